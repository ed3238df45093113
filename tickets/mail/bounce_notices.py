"""The notices of mail servers that are text alone: delay, success, or failure of a delivery."""

import re

# The subjects of notices about a delay or a success.
_SUBJECT = re.compile(
    r"(?i)\A(?:delayed mail\b|(?:mail |message )?delivery (?:is |has been |was )?delayed\b|(?:mail|message) delayed\b"
    r"|delivery status notification \((?:delay|success|relay)\w{0,10}\)|delivery delayed:|delayed:"
    r"|warning: (?:could not send message|message \S{1,60} delayed|mail delayed)|successful mail delivery report"
    r"|(?:zugestellt|verzögert|zustellung verzögert|opóźnienie|opóźnion\w{1,3}|dostarczono|delivered|relayed):?\b)"
)
# The sentences of such notices.
_TEXT = re.compile(
    r"(?i)this is a warning(?: message)? only|(?:you )?(?:do not|don't) need to resend (?:your|the) (?:message|mail)"
    r"|no action is required on your part|(?:will|still) (?:continue|keep|be) (?:to try|trying|being retried|retried)"
    r"|(?:it|delivery) will be retried|still being retried|delivery attempts will continue|has not yet been delivered"
    r"|has been delayed and is still|transient non-fatal errors|will keep trying until|we will retry for"
    r"|będzie(?:my)? ponawia(?:ć|na|ne)|nie musisz wysyłać (?:jej |go )?ponownie|próby dostarczenia będą"
    r"|wird weiterhin versucht|(?:zustell)?versuche werden fortgesetzt|les tentatives (?:de remise )?continue"
    r"|was successfully delivered"
)
# The end of the notice: the returned mail begins here.
_ORIGINAL = re.compile(
    r"(?im)^(?:[> \t]{0,5}(?:received|return-path|message-id|from|subject):|-{2,}[ \t]{0,5}(?:this is a copy|"
    r"original message|message header|the following is|begin|below|returned message|forwarded))"
)
_LONGEST = 4000


def says_no_failure(subject: str, text: str) -> bool:
    """Return whether the notice reports a delay or a success. The returned mail below it does not count."""
    if _SUBJECT.match(subject):
        return True
    notice = text[:_LONGEST]
    if (found := _ORIGINAL.search(notice)) is not None:
        notice = notice[: found.start()]
    return _TEXT.search(" ".join(notice.split())) is not None
