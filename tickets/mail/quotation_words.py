"""The words that mail programs and authors write around quotations, in several languages."""

import re

# The attribution above a quotation: it begins with one of these words or a date, has a date, and ends with this verb.
_BEGINS = (
    r"(?:(?:On|At|Op|Den|Em|W dniu|Dnia|Am|Le|El|Il giorno|Il|Wiadomość|pon|wt|śr|czw|pt|sob|niedz|ndz)\b"
    r"|\d{1,4}[-./]\d)"
)
_WROTE = (
    r"(?:(?:pisze|napisał(?:\(a\)|/a|a)?|wrote|(?:schrieb|schreef|skrev)\b[^\n]{0,250}|a écrit|escribió|escreveu"
    r"|ha scritto|het volgende geschreven|пишет|написал(?:\(а\)|а)?)\s?:|napisał(?:\(a\)|/a|a)?)"
)
BEGINNING = re.compile(rf"(?i)\A{_BEGINS}")
WROTE_AT_END = re.compile(rf"(?i)(?<!\w){_WROTE}\Z")
# A line that begins so continues the line above.
BROKEN_OFF = re.compile(rf"(?i)\A(?:<|{_WROTE}\Z)")
# The same in another order: author, verb, time.
WROTE_WHEN = re.compile(
    r"(?i)\A(?:Wiadomość napisana przez .{1,200} w dniu .{1,60}\d\s?:"
    r"|(?![\"„«]).{1,200} (?:schrieb am|a écrit le|wrote on|napisał(?:\(a\)|a)? w dniu) .{0,60}\d.{0,20}:)\Z"
)
_ORIGINAL = (
    r"Original Message|Oryginalna wiadomość|Wiadomość oryginalna|Treść oryginalnej wiadomości|Pierwotna wiadomość"
    r"|Ursprüngliche Nachricht|Originalnachricht|Original-Nachricht|Message d['’]origine|Message original"
    r"|Mensaje original"
)
_FORWARDED = (
    r"Forwarded message|Wiadomość przekazana|Przekazana wiadomość|Treść przekazanej wiadomości"
    r"|Weitergeleitete Nachricht|Message transféré|Message transmis"
)
# Zoho writes the attribution between hyphens.
_ATTRIBUTED = (
    r"(?:On|Am|W dniu|Le|El|Op) .{1,250}\d.{1,250} (?:wrote|schrieb|napisał(?:\(a\))?|a écrit|escribió|schreef)"
)
ORIGINAL = re.compile(rf"(?i)\A\*?-{{2,}} ?(?:{_ORIGINAL}|{_ATTRIBUTED}) ?-{{2,}}\*?\Z")
FORWARDED = re.compile(
    rf"(?i)\A(?:-{{2,}} ?(?:{_FORWARDED}) ?-{{2,}}|Begin forwarded message:|Początek przekazywanej wiadomości:"
    r"|Anfang der weitergeleiteten Nachricht:|Début du message transféré ?:)\Z"
)
RULE = re.compile(r"\A(?:_{5,}|-{5,})\Z")
# The headers of the quoted mail.
_FROM = r"From|Od|Von|De|Da|Van|Från|Fra|От"
_SENT = (
    r"Sent|Date|Wysłano|Wysłane|Data|Gesendet|Datum|Envoyé|Enviad[oa](?: em)?|Fecha|Inviato|Verzonden|Skickat|Sendt"
    r"|Отправлено|Дата"
)
_SUBJECT = r"Subject|Temat|Betreff|Objet|Asunto|Assunto|Oggetto|Onderwerp|Ämne|Emne|Тема"
_TO = r"To|Do|An|À|A|Para|Aan|Till|Til|Кому"
_OTHERS = (
    r"Cc|DW|Kopie|Risposta|Bcc|UDW|Reply-To|Odpowiedz do|Antwort an|Répondre à|Importance|Ważność"
    r"|Priorytet|Wichtigkeit|Priorität|Attachments|Załączniki|Anlagen|Pièces jointes"
)

# Every text with a quotation has one of these, in lower case. HTML may have a mark or a <blockquote> instead.
NEEDED = re.compile(
    rf"pisze|napisa|wrote|schrieb|écrit|escribió|scritto|написал|--|(?:{_FROM.lower()})(?:[\s*]|&nbsp;)*+:"
)
_LABEL, _END = r"(?i)\A\*{0,2}(?:", r")\s?\*{0,2}\s?:"
FROM = re.compile(f"{_LABEL}{_FROM}{_END}")
SENT = re.compile(f"{_LABEL}{_SENT}{_END}")
TO = re.compile(f"{_LABEL}{_TO}{_END}")
SUBJECT = re.compile(f"{_LABEL}{_SUBJECT}{_END}")
HEADER = re.compile(f"{_LABEL}{_FROM}|{_SENT}|{_TO}|{_SUBJECT}|{_OTHERS}{_END}")
ADDRESS = re.compile(r"<[^<>]{0,200}@")
# A date with a year or a time, in the digits of most languages.
DATED = re.compile(r"(?<!\d)(?:(?:19|20)\d\d|\d{1,2}[:.]\d\d|\d{1,2}[-./]\d{1,2}[-./]\d{2,4})(?!\d)")
# The prefix of the subject of a forwarded mail.
FORWARDING = re.compile(r"(?i)\A\s*(?:fwd?|pd|wg|tr|rv|enc|vb|vs|doorst|i)\s?:")
# The line that a phone, or a program on it, adds.
OF_PHONE = re.compile(
    r"(?i)\A(?=.{0,80}(?:iPhone|iPad|Android|Samsung|Galaxy|Huawei|Xiaomi|BlackBerry|Outlook|Mail|Mobil|Phone|Telefon"
    r"|Téléphone|Handy|Tablet))(?:Sent (?:from|via|with|using)|Get Outlook|Wysłan[eoy] (?:z|za pomocą|przez)"
    r"|Pobierz (?:program )?Outlook|Gesendet (?:von|mit|aus)|Von mein|Diese Nachricht wurde von mein|Outlook für"
    r"|Holen Sie sich Outlook|Envoyé (?:de|à partir|depuis|avec)|Obtenez Outlook|Télécharge[rz] Outlook).{0,80}\Z"
)
# Greetings: lines that do not count as the author's text.
GREETING = re.compile(
    r"(?i)\A(?:Hi|Hello|Hey|Dear|Good (?:morning|afternoon|evening|day)|Dzień dobry|Dobry wieczór|Witam|Witaj|Cześć"
    r"|Szanown\w{1,3}|Guten (?:Morgen|Tag|Abend)|Hallo|Moin|Liebe[rs]?|Sehr geehrte[rs]?|Bonjour|Bonsoir|Salut"
    r"|Madame|Monsieur|Cher|Chère|Chers)\b[^,.!?:;]{0,40}[,.!:]?\Z"
)
# Lines that close a letter; a coloured signature may follow.
CLOSING = re.compile(
    r"(?i)\A(?:--|(?:Kind|Best|Warm|With|Many|Yours|Sincerely|Thank|Thanks|Cheers|Regards|Pozdrawia\w{1,3}"
    r"|Pozdrowienia|Z (?:poważaniem|wyrazami)|Dziękuj\w{1,3}"
    r"|Mit (?:freundlichen|besten|herzlichen)|Freundliche|Viele|Beste|Herzliche|LG|MfG|Danke"
    r"|Cordialement|Bien (?:à|cordialement)|Sincères|Salutations|Merci|Meilleures)\b)"
)
_ANSWERS = (
    r"(?:answer|repl|respon|comment|see\b|odpowied|odpowiad|odpis|komentarz|uwagi|patrz|zob|antwort|kommentar|anmerkung"
    r"|siehe\b|s\.|répon|commentaire|remarque|voir\b|cf\b)"
)
_PLACES = (
    r"(?:below|inline|in-line|in line|underneath|in between|interspersed|in (?:blue|red|green|colou?r|bold)|poniżej"
    r"|niżej|pod spodem|w treści|w tekście|między|na (?:niebiesko|czerwono|zielono|kolorowo)|kolorem|unten|im text"
    r"|dazwischen|in (?:blau|rot|grün|farbe)|ci-dessous|dans le (?:texte|corps|message)|plus bas|en dessous|ci-après"
    r"|en (?:bleu|rouge|vert|couleur))"
)
# The author announces answers inside the quotation.
ANNOUNCEMENT = re.compile(rf"(?i)(?<!\w)(?:{_ANSWERS}.{{0,60}}{_PLACES}(?!\w)|{_PLACES}\b.{{0,60}}(?<!\w){_ANSWERS})")
# Outlook puts the author's name before each answer.
NAMED = re.compile(r"\A\[[^\[\]\n:@./]{2,40}\] ?\w")
