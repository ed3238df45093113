import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
import django.utils.timezone
import uuid
from callcentre.core.schema_operations import Together
from django.db import migrations, models
from pathlib import Path

SQL = Path(__file__).with_suffix(".sql").read_text()
COLUMNS = Path(__file__).with_name("0001_columns.sql").read_text()
LANGUAGES = (
    "simple danish dutch english finnish french german hungarian italian norwegian portuguese romanian russian spanish"
    " swedish turkish"
).split()
WORDS = "asciiword, word, numword, asciihword, hword, numhword, hword_asciipart, hword_part, hword_numpart"
# As PostgreSQL's own configuration of the language, but without accents.
CONFIGURATION = """
CREATE TEXT SEARCH CONFIGURATION knowledgebase_{language} (COPY = {language});
ALTER TEXT SEARCH CONFIGURATION knowledgebase_{language} ALTER MAPPING FOR {words} WITH unaccent, {dictionary};
"""


def configurations():
    """Return the statements that make the configurations of the text search."""
    for language in LANGUAGES:
        dictionary = language if language == "simple" else f"{language}_stem"
        yield CONFIGURATION.format(language=language, words=WORDS, dictionary=dictionary)
    yield "CREATE TEXT SEARCH CONFIGURATION knowledgebase_polish (COPY = knowledgebase_simple)"


class Migration(migrations.Migration):
    # What databases had recorded before 1.0.0, beside this name.
    replaces = [("knowledgebase", name) for name in (
        "0001_extensions 0002_text_search 0003_initial 0004_search_storage 0005_search_functions "
        "0006_name_of_the_catalog 0007_polish 0008_word_forms 0009_audit 0010_articles_of_the_front_page "
        "0011_histories_of_articles_stay"
    ).split()]

    initial = True

    dependencies = [
        ('callcentre', '0001_initial'),
        ('telephony', '0001_initial'),
    ]

    operations = [
        migrations.RunSQL(list(configurations())),
        migrations.RunSQL(COLUMNS),
        Together([
        migrations.CreateModel(
            name='Catalog',
            fields=[
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(error_messages={'unique': 'Another catalog has this name.'}, max_length=200, unique=True, verbose_name='name')),
                ('language', models.CharField(choices=[('simple', 'any (Polish is recognised, other words as they are written)'), ('danish', 'Danish'), ('dutch', 'Dutch'), ('english', 'English'), ('finnish', 'Finnish'), ('french', 'French'), ('german', 'German'), ('hungarian', 'Hungarian'), ('italian', 'Italian'), ('norwegian', 'Norwegian'), ('polish', 'Polish'), ('portuguese', 'Portuguese'), ('romanian', 'Romanian'), ('russian', 'Russian'), ('spanish', 'Spanish'), ('swedish', 'Swedish'), ('turkish', 'Turkish')], default='simple', help_text='Words of this language are also found in their other forms.', max_length=20, verbose_name='language')),
                ('counted_articles', models.PositiveIntegerField(default=0, editable=False)),
                ('counted_at', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'verbose_name': 'catalog',
                'verbose_name_plural': 'catalogs',
                'ordering': ['name'],
                'constraints': [models.CheckConstraint(condition=models.Q(('language__in', ['simple', 'danish', 'dutch', 'english', 'finnish', 'french', 'german', 'hungarian', 'italian', 'norwegian', 'polish', 'portuguese', 'romanian', 'russian', 'spanish', 'swedish', 'turkish'])), name='catalog_language_is_known')],
            },
        ),
        migrations.CreateModel(
            name='Lemma',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('lemma', models.CharField(db_collation='C', max_length=100, verbose_name='lemma')),
                ('forms', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(db_collation='C', max_length=100), size=None, verbose_name='forms')),
            ],
            options={
                'verbose_name': 'lemma',
                'verbose_name_plural': 'lemmas',
                'ordering': ['lemma', 'id'],
                'indexes': [django.contrib.postgres.indexes.GinIndex(fastupdate=False, fields=['forms'], name='lemma_forms')],
                'constraints': [models.UniqueConstraint(fields=('lemma',), name='lemma_is_unique')],
            },
        ),
        migrations.CreateModel(
            name='Category',
            fields=[
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200, verbose_name='name')),
                ('order', models.PositiveIntegerField(default=50, verbose_name='order')),
                ('catalog', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='categories', to='knowledgebase.catalog', verbose_name='catalog')),
            ],
            options={
                'verbose_name': 'category',
                'verbose_name_plural': 'categories',
                'ordering': ['order', 'name', 'id'],
                'constraints': [models.UniqueConstraint(fields=('catalog', 'name'), name='category_name_is_unique', violation_error_message='The catalog already has a category of this name.')],
            },
        ),
        migrations.CreateModel(
            name='SearchMiss',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('query', models.CharField(max_length=200, verbose_name='query')),
                ('count', models.PositiveIntegerField(default=1, verbose_name='times')),
                ('first_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='first asked')),
                ('last_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='last asked')),
                ('catalog', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='misses', to='knowledgebase.catalog', verbose_name='catalog')),
            ],
            options={
                'verbose_name': 'search without a result',
                'verbose_name_plural': 'searches without a result',
                'ordering': ['-count', '-id'],
                'indexes': [models.Index(fields=['last_at'], name='searchmiss_last_at')],
                'constraints': [models.UniqueConstraint(fields=('catalog', 'query'), name='searchmiss_is_unique')],
            },
        ),
        migrations.CreateModel(
            name='Term',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('term', models.CharField(db_collation='C', max_length=64, verbose_name='term')),
                ('articles', models.PositiveIntegerField(verbose_name='articles')),
                ('levels', django.contrib.postgres.fields.ArrayField(base_field=models.SmallIntegerField(), default=list, size=None)),
                ('counts', django.contrib.postgres.fields.ArrayField(base_field=models.PositiveIntegerField(), default=list, size=None)),
                ('catalog', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='terms', to='knowledgebase.catalog', verbose_name='catalog')),
            ],
            options={
                'verbose_name': 'term',
                'verbose_name_plural': 'terms',
                'ordering': ['term', 'id'],
                'indexes': [django.contrib.postgres.indexes.GinIndex(fields=['term'], name='term_similar', opclasses=['gin_trgm_ops'])],
                'constraints': [models.UniqueConstraint(fields=('catalog', 'term'), name='term_is_unique')],
            },
        ),
        migrations.CreateModel(
            name='Article',
            fields=[
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('language', models.CharField(choices=[('simple', 'any (Polish is recognised, other words as they are written)'), ('danish', 'Danish'), ('dutch', 'Dutch'), ('english', 'English'), ('finnish', 'Finnish'), ('french', 'French'), ('german', 'German'), ('hungarian', 'Hungarian'), ('italian', 'Italian'), ('norwegian', 'Norwegian'), ('polish', 'Polish'), ('portuguese', 'Portuguese'), ('romanian', 'Romanian'), ('russian', 'Russian'), ('spanish', 'Spanish'), ('swedish', 'Swedish'), ('turkish', 'Turkish')], editable=False, max_length=20)),
                ('title', models.CharField(max_length=255, verbose_name='title')),
                ('content', models.TextField(verbose_name='content')),
                ('text', models.TextField(editable=False)),
                ('is_published', models.BooleanField(default=False, editable=False, verbose_name='published')),
                ('published_at', models.DateTimeField(editable=False, null=True, verbose_name='published at')),
                ('number', models.PositiveIntegerField(default=1, editable=False)),
                ('published_number', models.PositiveIntegerField(editable=False, null=True)),
                ('positive_count', models.PositiveIntegerField(default=0, editable=False, verbose_name='helpful')),
                ('negative_count', models.PositiveIntegerField(default=0, editable=False, verbose_name='not helpful')),
                ('search', models.GeneratedField(db_persist=True, expression=models.Func('language', 'title', 'text', function='knowledgebase_vector'), output_field=django.contrib.postgres.search.SearchVectorField())),
                ('peaks', models.GeneratedField(db_persist=True, expression=models.Func(models.Func('language', 'title', 'text', function='knowledgebase_vector'), function='knowledgebase_peaks'), output_field=django.contrib.postgres.search.SearchVectorField())),
                ('author', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='articles', to='telephony.agent', verbose_name='author')),
                ('catalog', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='articles', to='knowledgebase.catalog', verbose_name='catalog')),
                ('category', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='articles', to='knowledgebase.category', verbose_name='category')),
                ('forms_version', models.PositiveSmallIntegerField(db_default=0, default=0, editable=False)),
            ],
            options={
                'verbose_name': 'article',
                'verbose_name_plural': 'articles',
                'ordering': ['title', 'id'],
                'indexes': [django.contrib.postgres.indexes.GinIndex(condition=models.Q(('is_published', True)), fields=['search'], name='article_search'), django.contrib.postgres.indexes.GinIndex(condition=models.Q(('is_published', True)), fields=['peaks'], name='article_peaks'), models.Index(condition=models.Q(('is_published', True)), fields=['catalog', 'title', 'id'], name='article_list'), models.Index(condition=models.Q(('is_published', True), ('language__in', ('simple', 'polish'))), fields=['forms_version'], name='article_word_forms'), models.Index(fields=['-updated_at', 'id'], name='article_newest'), models.Index(django.db.models.expressions.CombinedExpression(models.F('positive_count'), '-', models.F('negative_count')), models.F('title'), models.F('id'), condition=models.Q(('is_published', True), ('negative_count__gt', models.F('positive_count'))), name='article_worst'), models.Index(condition=models.Q(('published_number', models.F('number')), _negated=True), fields=['id'], name='article_drafts')],
                'constraints': [models.CheckConstraint(condition=models.Q(('title', ''), _negated=True), name='article_title_is_set'), models.CheckConstraint(condition=models.Q(('is_published', False), ('published_number__isnull', False), _connector='OR'), name='article_published_has_number')],
            },
        ),
        migrations.CreateModel(
            name='ArticleImage',
            fields=[
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('file', models.FileField(upload_to='knowledgebase', verbose_name='file')),
                ('name', models.CharField(max_length=255, verbose_name='name')),
                ('content_type', models.CharField(max_length=50, verbose_name='kind')),
                ('size', models.PositiveIntegerField(verbose_name='bytes')),
                ('actor_name', models.CharField(max_length=150, verbose_name='by')),
                ('article', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='images', to='knowledgebase.article', verbose_name='article')),
            ],
            options={
                'verbose_name': 'image of an article',
                'verbose_name_plural': 'images of articles',
                'ordering': ['-created_at', 'id'],
            },
        ),
        migrations.CreateModel(
            name='ArticleChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='time')),
                ('actor_kind', models.CharField(choices=[('api_user', 'API user'), ('user', 'user'), ('agent', 'agent'), ('import', 'import'), ('dialler', 'dialler'), ('system', 'system')], max_length=10, verbose_name='kind of actor')),
                ('actor_id', models.BigIntegerField(null=True)),
                ('actor_name', models.CharField(max_length=150, verbose_name='actor')),
                ('action', models.CharField(max_length=30, verbose_name='action')),
                ('changes', models.JSONField(default=dict, verbose_name='changes')),
                ('number', models.PositiveIntegerField(verbose_name='version')),
                ('article', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='changes', to='knowledgebase.article', verbose_name='article')),
                ('actor_address', models.GenericIPAddressField(null=True, verbose_name='address')),
            ],
            options={
                'verbose_name': 'change of an article',
                'verbose_name_plural': 'changes of articles',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['-at'], name='articlechange_at')],
            },
        ),
        migrations.CreateModel(
            name='ArticleVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField(verbose_name='version')),
                ('title', models.CharField(max_length=255, verbose_name='title')),
                ('content', models.TextField(verbose_name='content')),
                ('removed', models.JSONField(default=dict, verbose_name='taken out')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created')),
                ('actor_kind', models.CharField(choices=[('api_user', 'API user'), ('user', 'user'), ('agent', 'agent'), ('import', 'import'), ('dialler', 'dialler'), ('system', 'system')], max_length=10, verbose_name='kind of actor')),
                ('actor_id', models.BigIntegerField(null=True)),
                ('actor_name', models.CharField(max_length=150, verbose_name='by')),
                ('article', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='knowledgebase.article', verbose_name='article')),
            ],
            options={
                'verbose_name': 'version of an article',
                'verbose_name_plural': 'versions of articles',
                'ordering': ['-id'],
                'constraints': [models.UniqueConstraint(fields=('article', 'number'), name='articleversion_number_is_unique')],
            },
        ),
        migrations.CreateModel(
            name='ArticleVote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('user_key', models.CharField(blank=True, max_length=255, verbose_name='end user')),
                ('is_positive', models.BooleanField(verbose_name='helpful')),
                ('api_user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='callcentre.apiuser', verbose_name='API user')),
                ('article', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='votes', to='knowledgebase.article', verbose_name='article')),
            ],
            options={
                'verbose_name': 'vote',
                'verbose_name_plural': 'votes',
                'ordering': ['-id'],
                'constraints': [models.UniqueConstraint(fields=('article', 'api_user', 'user_key'), name='articlevote_is_unique')],
            },
        ),
        ]),
        migrations.RunSQL(SQL),
    ]
