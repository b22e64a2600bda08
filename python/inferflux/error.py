class InferFluxError(Exception):
    """What went wrong: a `code` such as "ModelNotFound" or "ContextTooLong", the message, and the setting it is about."""

    def __init__(self, code: str, message: str, field: str = ""):
        super().__init__(message)
        self.code = code
        self.field = field

    def __str__(self) -> str:
        return f"{self.code}: {super().__str__()}"
