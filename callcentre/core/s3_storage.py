"""Files in a bucket of S3, for hosts that share no folder. The service alone reads them: the bucket is private.

It behaves as Django's storage in a folder does: a name is taken once, a missing file is FileNotFoundError, and a file
is read from any place on, without a copy of the whole.
"""

import io
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files import File
from django.db import OperationalError
from storages.backends.s3 import S3Storage

# That one request reads.
PIECE = 1 << 20
# Of two hosts that take a name at once, one fails, and tries again later.
_ERRORS = {403: PermissionError, 404: FileNotFoundError, 409: FileExistsError, 412: FileExistsError}
_lock = threading.Lock()


class StorageAway(OSError, OperationalError):
    """The bucket did not answer. Where a lost database is a reason to try again, or to answer 503, so is this."""


@contextmanager
def _errors_of_files() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        raise _ERRORS.get(error.response["ResponseMetadata"]["HTTPStatusCode"], StorageAway)(str(error)) from error
    except BotoCoreError as error:
        raise StorageAway(str(error)) from error


def _take_name_once(params: dict[str, Any], **_unused: Any) -> None:
    params["headers"]["If-None-Match"] = "*"


class Storage(S3Storage):
    """The storage of settings.STORAGES, as callcentre.environment.files describes it."""

    delete = _errors_of_files()(S3Storage.delete)
    exists = _errors_of_files()(S3Storage.exists)
    listdir = _errors_of_files()(S3Storage.listdir)
    size = _errors_of_files()(S3Storage.size)
    _save = _errors_of_files()(S3Storage._save)

    def __init__(self, **options: Any) -> None:
        # Servers of others take neither host names of buckets nor the newer checksums for granted.
        config = Config(
            s3={"addressing_style": "path" if options.get("endpoint_url") else "auto"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            connect_timeout=3,
            read_timeout=15,
            retries={"mode": "standard", "total_max_attempts": 3},
        )
        # Without threads: a stream is read by the thread of its request.
        transfer = TransferConfig(use_threads=False)
        super().__init__(file_overwrite=False, client_config=config, transfer_config=transfer, **options)
        self._of_process: tuple[int, Any] = (0, None)

    @property
    def connection(self) -> Any:
        """The connections of this process: a client takes 13 MB, so threads share it, and forked processes do not."""
        with _lock:
            if self._of_process[0] != os.getpid():
                self._connections = threading.local()
                self._of_process = (os.getpid(), super().connection)
                events = self._of_process[1].meta.client.meta.events
                events.register("before-call.s3.PutObject", _take_name_once)
                events.register("before-call.s3.CompleteMultipartUpload", _take_name_once)
            return self._of_process[1]

    @property
    def bucket(self) -> Any:
        return self.connection.Bucket(self.bucket_name)

    @_errors_of_files()
    def _open(self, name: str, mode: str = "rb") -> Any:
        return File(io.BufferedReader(_Reader(self.bucket.Object(self._normalize_name(name))), PIECE), name)


class _Reader(io.RawIOBase):
    """A file in the bucket. Each request asks for a piece: a connection to a slow reader would be closed."""

    def __init__(self, file: Any) -> None:
        self._file, self._size, self._at = file, file.content_length, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = max(offset + (0, self._at, self._size)[whence], 0)
        return self._at

    @_errors_of_files()
    def readinto(self, buffer: Any) -> int:
        if self._at >= self._size:
            return 0
        piece = self._file.get(Range=f"bytes={self._at}-{self._at + len(buffer) - 1}")["Body"].read()
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)
