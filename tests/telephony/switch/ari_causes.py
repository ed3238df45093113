"""Q.850 causes as Asterisk 22 derives them: from SIP answers, and from reasons for a hang-up."""

# SIP status -> Q.850 cause, its text, last dialstatus
CAUSES = {
    **dict.fromkeys((400, 405, 487), (127, "Interworking, unspecified", "NOANSWER")),
    **dict.fromkeys((403, 603), (21, "Call Rejected", "NOANSWER")),
    **dict.fromkeys((404, 604), (1, "Unallocated (unassigned) number", "NOANSWER")),
    408: (18, "No user responding", "NOANSWER"),
    410: (22, "Number changed", "NOANSWER"),
    420: (3, "No route to destination", "CHANUNAVAIL"),
    480: (19, "User alerting, no answer", "NOANSWER"),
    484: (28, "Invalid number format", "NOANSWER"),
    **dict.fromkeys((486, 600), (17, "User busy", "BUSY")),
    **dict.fromkeys((488, 606), (58, "Bearer capability not available", "NOANSWER")),
    500: (38, "Network out of order", "NOANSWER"),
    501: (29, "Facility rejected", "NOANSWER"),
    502: (27, "Destination out of order", "NOANSWER"),
    503: (34, "Circuit/channel congestion", "CONGESTION"),
    504: (102, "Recover on timer expiry", "NOANSWER"),
}
TEXTS = {0: "Unknown", 16: "Normal Clearing", 26: "Answered elsewhere"} | {c: text for c, text, _ in CAUSES.values()}
# DELETE of a channel: ?reason= -> cause
REASONS = {
    "normal": 16,
    "busy": 17,
    "congestion": 34,
    "no_answer": 19,
    "timeout": 18,
    "rejected": 21,
    "unallocated": 1,
    "answered_elsewhere": 26,
}
