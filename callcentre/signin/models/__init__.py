from callcentre.signin.models.provider import ProviderGroup, ProviderIdentity, ProviderSession
from callcentre.signin.models.second_factor import RecoveryCode, SecondFactor
from callcentre.signin.models.session import PasswordReset, SessionStore, UserSession
