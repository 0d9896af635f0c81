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

static inline bool read_part(Reader *reader, size_t size, Reader *part) {
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

/* Writes into memory of its own. What does not fit is not written, and refused when it is closed. */
typedef struct {
    uint8_t *start, *at, *end;
    bool failed;
} Writer;

static inline void write_bytes(Writer *writer, const void *data, size_t size) {
    if ((size_t)(writer->end - writer->at) < size) {
        writer->failed = true;
        return;
    }
    memcpy(writer->at, data, size);
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

/* The bytes of an argument from a position on. They last as long as the argument. */
static inline bool argument_bytes(PyObject *argument, Py_ssize_t from, Reader *reader) {
    char *at;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(argument, &at, &size) < 0) return false;
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

static inline bool put_in_tuple(PyObject *tuple, Py_ssize_t index, PyObject *item) {
    return item != NULL && PyTuple_SetItem(tuple, index, item) == 0;
}

/* An integer of protobuf's: what does not fit into 64 bits is cut off, and -1 is all ones. */
static inline bool as_u64(PyObject *number, uint64_t *value) {
    if (number == NULL) return false;
    *value = PyLong_AsUnsignedLongLongMask(number);
    return *value != UINT64_MAX || !PyErr_Occurred();
}

static inline bool argument_list(PyObject *argument, Py_ssize_t *count) {
    *count = PyList_Size(argument);
    return *count >= 0;
}

/* Room for so many things of at most this size. Close it, or drop it. */
static inline bool writer_open(Writer *writer, Py_ssize_t count, size_t size_max) {
    if ((size_t)count > (size_t)PY_SSIZE_T_MAX / size_max ||
        (writer->start = PyMem_Malloc((size_t)count * size_max)) == NULL) {
        PyErr_NoMemory();
        return false;
    }
    writer->at = writer->start;
    writer->end = writer->start + (size_t)count * size_max;
    writer->failed = false;
    return true;
}

static inline void writer_drop(Writer *writer) { PyMem_Free(writer->start); }

/* What was written. */
static inline PyObject *writer_close(Writer *writer) {
    PyObject *bytes = NULL;
    if (writer->failed)
        PyErr_SetString(PyExc_SystemError, "an inner loop wrote more than it made room for");
    else
        bytes = PyBytes_FromStringAndSize((const char *)writer->start, writer->at - writer->start);
    writer_drop(writer);
    return bytes;
}

void checksum_prepare(void);
uint32_t checksum_of(const uint8_t *data, size_t size);

/* The loops. */
PyObject *inner_checksum(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_cut_sends(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *inner_send_receipts(PyObject *, PyObject *const *, Py_ssize_t);

#endif
