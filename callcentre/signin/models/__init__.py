from callcentre.signin.models.password_reset import PasswordReset
from callcentre.signin.models.second_factor import RecoveryCode, SecondFactor
from callcentre.signin.models.session import SessionStore, UserSession
