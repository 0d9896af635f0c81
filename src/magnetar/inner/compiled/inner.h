/* What the inner loops share: the only reader and the only writer of bytes, and the checksum.
 *
 * Bytes come from outside and say anything. So nothing here is read or written but through a Reader
 * or a Writer, which know where they end: each function checks what is left before it touches it.
 */
#ifndef MAGNETAR_INNER_H
#define MAGNETAR_INNER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const uint8_t *at;
    const uint8_t *end;
} Reader;

static inline size_t left(const Reader *reader) { return (size_t)(reader->end - reader->at); }

/* Each returns false where there is too little, or something else; then the reader is of no use. */

static inline bool read_u32(Reader *reader, uint32_t *value) {
    if (left(reader) < 4) return false;
    const uint8_t *at = reader->at;
    *value = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    reader->at += 4;
    return true;
}

static inline bool read_part(Reader *reader, uint64_t size, Reader *part) {
    if (left(reader) < size) return false;
    part->at = reader->at;
    part->end = reader->at += size;
    return true;
}

static inline bool read_literal(Reader *reader, const char *literal, size_t size) {
    if (left(reader) < size || memcmp(reader->at, literal, size) != 0) return false;
    reader->at += size;
    return true;
}

static inline bool read_byte(Reader *reader, uint8_t *value) {
    if (reader->at == reader->end) return false;
    *value = *reader->at++;
    return true;
}

/* The next byte, where it is this one; or else nothing is read. */
static inline bool read_tag(Reader *reader, uint8_t tag) {
    if (reader->at == reader->end || *reader->at != tag) return false;
    reader->at++;
    return true;
}

/* Of any form with at most 64 bits: ten bytes, of which the last is 0 or 1. */
static inline bool read_varint(Reader *reader, uint64_t *value) {
    uint64_t found = 0;
    for (unsigned shift = 0; shift <= 63 && reader->at < reader->end; shift += 7) {
        uint8_t byte = *reader->at++;
        if (shift == 63 && byte > 1) return false;
        found |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *value = found;
            return true;
        }
    }
    return false;
}

/* A field of a protobuf message: a number, or bytes. The forms that protobuf itself would not write
 * are not read: tags of more than two bytes, sizes of more than four; neither are other kinds. */
typedef struct {
    uint32_t tag; /* Of one byte, or of two with the first one's top bit taken out. */
    uint64_t number;
    Reader bytes;
} Field;

static inline bool read_size(Reader *reader, uint64_t *size) {
    const uint8_t *start = reader->at;
    return read_varint(reader, size) && reader->at - start <= 4;
}

static inline bool read_field(Reader *reader, Field *field) {
    uint8_t low, high = 0;
    if (!read_byte(reader, &low) || (low > 0x7F && (!read_byte(reader, &high) || high > 0x7F)))
        return false;
    field->tag = (uint32_t)(low & 0x7F) | (uint32_t)high << 7;
    field->bytes.at = field->bytes.end = reader->at; /* None, where it is a number. */
    if ((low & 7) == 0) return read_varint(reader, &field->number);
    return (low & 7) == 2 && read_size(reader, &field->number) &&
           read_part(reader, field->number, &field->bytes);
}

/* A KeyValue that is key and value and nothing else: both are required. */
static inline bool is_pair(Reader pair) {
    Field key, value;
    return read_field(&pair, &key) && key.tag == 0x0a && read_field(&pair, &value) &&
           value.tag == 0x12 && left(&pair) == 0;
}

/* Writes a bytes object of a size that is known before. What does not fit is not written, and the
 * object is refused when it is closed; also when it was not filled. */
typedef struct {
    PyObject *bytes;
    uint8_t *at, *end;
    bool failed;
} Writer;

static inline void write_bytes(Writer *writer, const void *data, size_t size) {
    if ((size_t)(writer->end - writer->at) < size) {
        writer->failed = true;
        return;
    }
    if (size != 0) memcpy(writer->at, data, size); /* Of nothing, data may be NULL. */
    writer->at += size;
}

static inline void write_byte(Writer *writer, uint8_t byte) { write_bytes(writer, &byte, 1); }

static inline void write_u32(Writer *writer, uint32_t value) {
    uint8_t bytes[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8),
                        (uint8_t)value};
    write_bytes(writer, bytes, 4);
}

static inline void write_varint(Writer *writer, uint64_t value) {
    uint8_t bytes[10];
    size_t size = 0;
    for (; value > 0x7F; value >>= 7) bytes[size++] = (uint8_t)(value | 0x80);
    bytes[size++] = (uint8_t)value;
    write_bytes(writer, bytes, size);
}

static inline size_t varint_size(uint64_t value) {
    size_t size = 1;
    for (; value > 0x7F; value >>= 7) size++;
    return size;
}

/* A number with its tag before it. */
static inline void write_field(Writer *writer, uint8_t tag, uint64_t value) {
    write_byte(writer, tag);
    write_varint(writer, value);
}

/* Python's objects. Each returns false, or NULL, with an exception. */

static inline bool argument_count(const char *name, Py_ssize_t count, Py_ssize_t expected) {
    if (count == expected) return true;
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, not %zd", name, expected, count);
    return false;
}

/* An index or a size: not negative. */
static inline bool argument_size(PyObject *argument, Py_ssize_t *size) {
    *size = PyLong_AsSsize_t(argument);
    if (*size >= 0) return true;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a size or position below 0");
    return false;
}

/* The bytes of an argument from a position on. They last as long as the argument. NULL: there is an
 * exception already. */
static inline bool argument_bytes(PyObject *argument, Py_ssize_t from, Reader *reader) {
    char *at;
    Py_ssize_t size;
    if (argument == NULL || PyBytes_AsStringAndSize(argument, &at, &size) < 0) return false;
    if (from > size) {
        PyErr_SetString(PyExc_ValueError, "a position behind the bytes");
        return false;
    }
    reader->at = (const uint8_t *)at + from;
    reader->end = (const uint8_t *)at + size;
    return true;
}

/* A copy of what is left. */
static inline PyObject *bytes_of(const Reader *reader) {
    return PyBytes_FromStringAndSize((const char *)reader->at, (Py_ssize_t)left(reader));
}

/* Put a new object, or NULL with an exception, into its place: it belongs to the list then. */
static inline bool put(PyObject *list, Py_ssize_t index, PyObject *item) {
    return item != NULL && PyList_SetItem(list, index, item) == 0;
}

/* Puts a new object behind the others; NULL is what making it has failed with. */
static inline bool append(PyObject *list, PyObject *item) {
    bool ok = item != NULL && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return ok;
}

static inline bool put_in_tuple(PyObject *tuple, Py_ssize_t index, PyObject *item) {
    return item != NULL && PyTuple_SetItem(tuple, index, item) == 0;
}

/* An integer of protobuf's: what does not fit into 64 bits is cut off, and -1 is all ones. */
static inline bool as_u64(PyObject *number, uint64_t *value) {
    if (number == NULL) return false;
    if (!PyLong_Check(number)) { /* Others might run code of their own, in the midst of a loop. */
        PyErr_SetString(PyExc_TypeError, "an integer is required");
        return false;
    }
    *value = PyLong_AsUnsignedLongLongMask(number);
    return *value != UINT64_MAX || !PyErr_Occurred();
}

static inline bool argument_list(PyObject *argument, Py_ssize_t *count) {
    *count = PyList_Size(argument);
    return *count >= 0;
}

static inline bool argument_index(PyObject *list, Py_ssize_t at, Py_ssize_t count, Py_ssize_t *index) {
    if (!argument_size(PyList_GetItem(list, at), index)) return false;
    if (*index < count) return true;
    PyErr_SetString(PyExc_IndexError, "an index behind the end of a list");
    return false;
}

/* The bytes of an item. They last as long as the list keeps it. */
static inline bool item_bytes(PyObject *list, Py_ssize_t index, Reader *reader) {
    return argument_bytes(PyList_GetItem(list, index), 0, reader);
}

static inline bool item_u64(PyObject *list, Py_ssize_t index, uint64_t *value) {
    return as_u64(PyList_GetItem(list, index), value);
}

/* One size more. */
static inline bool add_size(size_t *total, size_t more) {
    if (more <= (size_t)PY_SSIZE_T_MAX - *total) {
        *total += more;
        return true;
    }
    PyErr_NoMemory();
    return false;
}

/* Room for so many bytes. Close it, or drop it. */
static inline bool writer_open(Writer *writer, size_t size) {
    writer->bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (writer->bytes == NULL) return false;
    writer->at = (uint8_t *)PyBytes_AsString(writer->bytes);
    writer->end = writer->at + size;
    writer->failed = false;
    return true;
}

static inline void writer_drop(Writer *writer) { Py_DECREF(writer->bytes); }

static inline PyObject *writer_close(Writer *writer) {
    if (!writer->failed && writer->at == writer->end) return writer->bytes;
    writer_drop(writer);
    PyErr_SetString(PyExc_SystemError, "an inner loop wrote another size than it had worked out");
    return NULL;
}

/* checksum.c */
void checksum_prepare(void);
uint32_t checksum_of(const uint8_t *data, size_t size);
uint32_t checksum_on(uint32_t seed, const uint8_t *data, size_t size); /* Of bytes behind others. */

/* traits.c */
typedef struct {
    Reader least, most; /* The bits of its id, as varints. */
} Transaction;

/* As plain/traits.py says. No transaction was said where it is NULL. */
bool entry_is_usual(Reader entry, uint64_t message_count, const Transaction *said);

/* The loops. */
PyObject *inner_checksum(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_cut_sends(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_send_receipts(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_add_frames(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_cut_added(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_open_stored(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_cut_acks(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_cut_receipts(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_message_frames(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_look_into(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_pack(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_unpack(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_unpack_as(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_columns(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_write_fields(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_encode_block(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_cut_entries(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_cut_records(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_cut_rows(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_pack_rows(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_replicas(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_send_frames(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_source_places(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_share_rows(PyObject *, PyObject *const *, Py_ssize_t);

#endif
