"""Django's state only: no SQL."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('knowledgebase', '0005_search_functions'),
    ]

    operations = [
        migrations.AlterField(
            model_name='article',
            name='catalog',
            field=models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='articles', to='knowledgebase.catalog', verbose_name='catalog'),
        ),
    ]
