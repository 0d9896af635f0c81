from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Version(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    THREE: _ClassVar[Version]

class Operation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GET_BOOKIE_INFO: _ClassVar[Operation]
    START_TLS: _ClassVar[Operation]

class Status(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EOK: _ClassVar[Status]
    EBADREQ: _ClassVar[Status]
    EIO: _ClassVar[Status]
    EUA: _ClassVar[Status]
    EBADVERSION: _ClassVar[Status]
THREE: Version
GET_BOOKIE_INFO: Operation
START_TLS: Operation
EOK: Status
EBADREQ: Status
EIO: Status
EUA: Status
EBADVERSION: Status

class Request(_message.Message):
    __slots__ = ("header", "getBookieInfoRequest", "startTLSRequest")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    GETBOOKIEINFOREQUEST_FIELD_NUMBER: _ClassVar[int]
    STARTTLSREQUEST_FIELD_NUMBER: _ClassVar[int]
    header: Header
    getBookieInfoRequest: GetBookieInfoRequest
    startTLSRequest: StartTls
    def __init__(self, header: _Optional[_Union[Header, _Mapping[str, object]]] = ..., getBookieInfoRequest: _Optional[_Union[GetBookieInfoRequest, _Mapping[str, object]]] = ..., startTLSRequest: _Optional[_Union[StartTls, _Mapping[str, object]]] = ...) -> None: ...

class Response(_message.Message):
    __slots__ = ("header", "status", "getBookieInfoResponse", "startTLSResponse")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    GETBOOKIEINFORESPONSE_FIELD_NUMBER: _ClassVar[int]
    STARTTLSRESPONSE_FIELD_NUMBER: _ClassVar[int]
    header: Header
    status: int
    getBookieInfoResponse: GetBookieInfoResponse
    startTLSResponse: StartTls
    def __init__(self, header: _Optional[_Union[Header, _Mapping[str, object]]] = ..., status: _Optional[int] = ..., getBookieInfoResponse: _Optional[_Union[GetBookieInfoResponse, _Mapping[str, object]]] = ..., startTLSResponse: _Optional[_Union[StartTls, _Mapping[str, object]]] = ...) -> None: ...

class Header(_message.Message):
    __slots__ = ("version", "operation", "txnId")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    TXNID_FIELD_NUMBER: _ClassVar[int]
    version: Version
    operation: Operation
    txnId: int
    def __init__(self, version: _Optional[_Union[Version, str]] = ..., operation: _Optional[_Union[Operation, str]] = ..., txnId: _Optional[int] = ...) -> None: ...

class StartTls(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetBookieInfoRequest(_message.Message):
    __slots__ = ("requested",)
    REQUESTED_FIELD_NUMBER: _ClassVar[int]
    requested: int
    def __init__(self, requested: _Optional[int] = ...) -> None: ...

class GetBookieInfoResponse(_message.Message):
    __slots__ = ("status", "totalDiskCapacity", "freeDiskSpace")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    TOTALDISKCAPACITY_FIELD_NUMBER: _ClassVar[int]
    FREEDISKSPACE_FIELD_NUMBER: _ClassVar[int]
    status: int
    totalDiskCapacity: int
    freeDiskSpace: int
    def __init__(self, status: _Optional[int] = ..., totalDiskCapacity: _Optional[int] = ..., freeDiskSpace: _Optional[int] = ...) -> None: ...
