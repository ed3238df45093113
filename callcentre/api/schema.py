from drf_spectacular.openapi import AutoSchema


class OperationSchema(AutoSchema):
    pass
