from callcentre.signin.models.password_reset import PasswordReset
from callcentre.signin.models.provider import ProviderGroup, ProviderIdentity, ProviderSession
from callcentre.signin.models.second_factor import RecoveryCode, SecondFactor
from callcentre.signin.models.session import SessionStore, UserSession

__all__ = [
    "PasswordReset",
    "ProviderGroup",
    "ProviderIdentity",
    "ProviderSession",
    "RecoveryCode",
    "SecondFactor",
    "SessionStore",
    "UserSession",
]
