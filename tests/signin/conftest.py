from tests.callcentre.conftest import clock

__all__ = ["clock"]
