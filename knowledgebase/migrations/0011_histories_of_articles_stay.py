from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledgebase", "0010_articles_of_the_front_page")]

    operations = [
        migrations.AlterField(
            "articlechange",
            "article",
            models.ForeignKey(
                db_constraint=False,
                on_delete=models.deletion.DO_NOTHING,
                related_name="changes",
                to="knowledgebase.article",
                verbose_name="article",
            ),
        ),
    ]
