"""The texts and names in the tickets and chats of the demonstration."""

from typing import NamedTuple


class Matter(NamedTuple):
    category: str
    tag: str
    subject: str
    question: str
    answer: str
    comment: str
    thanks: str


MATTERS = [
    Matter(
        "Delivery",
        "parcel",
        "Where is my parcel?",
        "Good morning,\nI ordered a week ago and have heard nothing since. When will the parcel come?",
        "Your parcel left our warehouse yesterday and will be with you tomorrow before noon.",
        "The courier confirmed the pick-up; it was left behind at the depot for a day.",
        "It has come. Thank you!",
    ),
    Matter(
        "Complaints",
        "damage",
        "The table came with a broken leg",
        "The box was torn when it came, and one leg of the table is broken. A photo is attached.",
        "We are sorry. A new leg is on its way; please keep the broken one for the courier.",
        "The third damage with this courier this month.",
        "The new leg fits. Thanks for the quick help.",
    ),
    Matter(
        "Invoices",
        "invoice",
        "Invoice for my company",
        "Could you send me the invoice with my company's tax number on it?",
        "The corrected invoice is attached.",
        "The tax number was checked against the register.",
        "I have it, thank you.",
    ),
    Matter(
        "Orders",
        "change",
        "Another delivery address",
        "Please send the order to my office instead: ul. Długa 5, Gdańsk.",
        "We have changed the address; the order leaves tomorrow.",
        "Address changed in the shop, too.",
        "Great, thank you.",
    ),
    Matter(
        "Orders",
        "cancel",
        "Cancel my order",
        "I have found that I ordered the lamp twice. Please cancel one of them.",
        "One of the two lamps is cancelled; the money will be on your account within three days.",
        "Refund asked for in accounting.",
        "The money has come.",
    ),
    Matter(
        "Complaints",
        "return",
        "I want to return the chair",
        "The chair is too low for our table. How can I send it back?",
        "Please use the attached label. We refund the price as soon as the chair is here.",
        "Within the 14 days.",
        "Sent today.",
    ),
    Matter(
        "Products",
        "question",
        "Does the sofa fit through a door of 80 cm?",
        "Before I order: our door is 80 cm wide. Does the sofa come in parts?",
        "It comes in three boxes, the widest of which is 74 cm.",
        "Measured in the showroom.",
        "Then I will order it.",
    ),
    Matter(
        "Delivery",
        "date",
        "Delivery on a Saturday",
        "Nobody is at home during the week. Can you deliver on a Saturday?",
        "Yes: the courier will call you on Friday to agree on the hour.",
        "Saturday run of the courier booked.",
        "Perfect.",
    ),
]
CATEGORIES = sorted({matter.category for matter in MATTERS})
CUSTOMERS = [
    ("Jan", "Kowal"),
    ("Zofia", "Lis"),
    ("Marek", "Wójcik"),
    ("Hanna", "Kamińska"),
    ("Paweł", "Lewandowski"),
    ("Julia", "Szymańska"),
    ("Adam", "Woźniak"),
    ("Ewa", "Kozłowska"),
    ("Michał", "Jankowski"),
    ("Alicja", "Mazur"),
    ("Krzysztof", "Krawczyk"),
    ("Monika", "Piotrowska"),
    ("Andrzej", "Grabowski"),
    ("Karolina", "Pawłowska"),
    ("Rafał", "Michalski"),
    ("Magdalena", "Król"),
]
CANNED = [
    ("On its way", "<p>Your parcel has left our warehouse and will be with you within two working days.</p>"),
    ("We need a photo", "<p>Please send us a photo of the damage, and one of the box.</p>"),
]
# What a client and an agent write in turn.
CHATS = [
    (
        "Hello, is the oak table in stock?",
        "Good morning! Yes, we have four of them.",
        "Can I collect it today?",
        "You can, until 6 p.m.",
        "Thanks!",
    ),
    (
        "My discount code does not work.",
        "Which code is it?",
        "AUTUMN10",
        "It ended on Sunday, but I have made you a new one.",
    ),
    ("When do you open on Saturday?", "At nine.", "Thank you."),
    (
        "I cannot log in to my account.",
        "I have sent you a link to set a new password.",
        "It works now.",
        "Glad to hear it.",
    ),
]
