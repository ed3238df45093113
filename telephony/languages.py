"""The language of a caller, by the country of the number."""

import phonenumbers

# Countries (ISO 3166) whose callers mostly share a language. Callers of others hear the language of the queue.
_COUNTRIES = """
ar: AE BH DZ EG IQ JO KW LB LY MA OM QA SA SY TN YE; bg: BG; cs: CZ; da: DK; de: AT DE LI; el: CY GR;
en: AU GB GG GI IE IM JE NZ US; es: AR BO CL CO CR DO EC ES GT HN MX NI PA PE PY SV UY VE; et: EE; fi: FI; fr: FR MC;
hr: HR; hu: HU; it: IT SM VA; ja: JP; ko: KR; lt: LT; lv: LV; nl: NL; no: NO; pl: PL; pt: BR PT; ro: MD RO; ru: BY RU;
sk: SK; sl: SI; sr: RS; sv: SE; tr: TR; uk: UA; zh: CN TW
"""
_OF_COUNTRY = {
    country: language.strip()
    for language, countries in (line.split(":") for line in _COUNTRIES.split(";"))
    for country in countries.split()
}


def language_of(number: str) -> str:
    """Return the language (ISO 639) of a number in its normal form; "" if it is hidden, or its country has several."""
    if number[:1] != "+":
        return ""
    try:
        region = phonenumbers.region_code_for_number(phonenumbers.parse(number))
    except phonenumbers.NumberParseException:
        return ""
    return _OF_COUNTRY.get(region or "", "")
