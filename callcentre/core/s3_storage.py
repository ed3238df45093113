"""Files in a bucket of S3, for hosts that share no folder. The service alone reads them: the bucket is private.

It behaves as Django's storage in a folder does: a name is taken once, and a missing file is FileNotFoundError. A bucket
that does not answer is StorageAway. A file is read from any place on, without a copy of the whole.
"""

import io
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files import File
from django.db import OperationalError
from s3transfer.exceptions import RetriesExceededError
from storages.backends.s3 import S3Storage
from storages.utils import clean_name

PIECE = 1 << 18
_ERRORS: dict[int, type[OSError]] = {401: PermissionError, 403: PermissionError, 404: FileNotFoundError}
# The name is taken: S3 refuses a second file (If-None-Match), also if two hosts write at once.
_ERRORS |= {409: FileExistsError, 412: FileExistsError}
_lock = threading.Lock()


class StorageAway(OSError, OperationalError):
    """The bucket did not answer. Where a lost database is a reason to try again, or to answer 503, so is this."""


@contextmanager
def _errors_of_files() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        raise _ERRORS.get(status, StorageAway)(str(error)) from error
    except (BotoCoreError, RetriesExceededError) as error:
        raise StorageAway(str(error)) from error


def _take_name_once(params: dict[str, Any], **_unused: Any) -> None:
    params["headers"]["If-None-Match"] = "*"


class Storage(S3Storage):  # type: ignore[misc]  # the package has no types
    """The storage of settings.STORAGES, as callcentre.environment.file_storage describes it."""

    def __init__(self, **options: Any) -> None:
        # Servers of others take neither host names of buckets nor the newer checksums for granted.
        more: dict[str, Any] = {"s3": {"addressing_style": "path"}} if options.get("endpoint_url") else {}
        config = Config(
            connect_timeout=3,
            read_timeout=15,
            retries={"mode": "standard", "total_max_attempts": 3},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            **more,
        )
        # In this thread: a stream of a request is read by one thread.
        transfer = TransferConfig(use_threads=False)
        super().__init__(file_overwrite=False, client_config=config, transfer_config=transfer, **options)
        self._resource: Any = None
        self._process = 0

    @property
    def connection(self) -> Any:
        """The connections of this process: a client takes 15 MB, so threads share it, and forked processes do not."""
        with _lock:
            if self._process != os.getpid():
                self._connections = threading.local()
                self._resource = super().connection
                for operation in ("PutObject", "CompleteMultipartUpload"):
                    self._resource.meta.client.meta.events.register(f"before-call.s3.{operation}", _take_name_once)
                self._process = os.getpid()
            return self._resource

    @property
    def bucket(self) -> Any:
        return self.connection.Bucket(self.bucket_name)

    def _open(self, name: str, mode: str = "rb") -> Any:
        assert mode == "rb", "Files are written by save()."
        with _errors_of_files():
            reader = _Reader(self.connection.meta.client, self.bucket_name, self._normalize_name(clean_name(name)))
        return File(io.BufferedReader(reader, PIECE), name)

    def _save(self, name: str, content: Any) -> Any:
        while True:
            try:
                with _errors_of_files():
                    return super()._save(name, content)
            except FileExistsError:
                # Another process has taken the name meanwhile. What was read of a stream is gone.
                if not content.seekable():
                    raise
                name = self.get_available_name(name)

    def delete(self, name: str) -> None:
        with _errors_of_files():
            super().delete(name)

    def exists(self, name: str) -> bool:
        with _errors_of_files():
            return bool(super().exists(name))

    def listdir(self, path: str) -> Any:
        with _errors_of_files():
            return super().listdir(path)

    def size(self, name: str) -> int:
        with _errors_of_files():
            return int(super().size(name))


class _Reader(io.RawIOBase):
    """A file in the bucket. Each request asks for it from the place on where the reader stands."""

    def __init__(self, client: Any, bucket: str, key: str) -> None:
        self._client, self._object = client, {"Bucket": bucket, "Key": key}
        self._size = client.head_object(**self._object)["ContentLength"]
        self._at = 0
        self._body: Any = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        at = max(offset + (0, self._at, self._size)[whence], 0)
        if at != self._at:
            self._leave()
            self._at = at
        return at

    def readinto(self, buffer: Any) -> int:
        if self._at >= self._size:
            return 0
        with _errors_of_files():
            if self._body is None:
                self._body = self._client.get_object(**self._object, Range=f"bytes={self._at}-")["Body"]
            piece = self._body.read(len(buffer))
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def _leave(self) -> None:
        if self._body is not None:
            with suppress(Exception):
                self._body.close()
            self._body = None

    def close(self) -> None:
        self._leave()
        super().close()
