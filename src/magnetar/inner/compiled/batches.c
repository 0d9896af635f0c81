/* Packs messages into one payload, and takes them out again: plain/batches.py says how. */
#include "inner.h"

PyObject *inner_pack(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    Py_ssize_t count;
    uint64_t first;
    size_t size = 0;
    Reader body;
    Writer out;
    if (!argument_count("pack", given, 2) || !argument_list(arguments[0], &count) ||
        !as_u64(arguments[1], &first))
        return NULL;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!item_bytes(arguments[0], i, &body) ||
            !add_size(&size, 6 + varint_size(left(&body)) + varint_size(first + (uint64_t)i)) ||
            !add_size(&size, left(&body)))
            return NULL;
    if (!writer_open(&out, size)) return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!item_bytes(arguments[0], i, &body)) {
            writer_drop(&out);
            return NULL;
        }
        uint64_t sequence = first + (uint64_t)i;
        write_u32(&out, (uint32_t)(2 + varint_size(left(&body)) + varint_size(sequence)));
        write_field(&out, 0x18, left(&body));
        write_field(&out, 0x40, sequence);
        write_bytes(&out, body.at, left(&body));
    }
    return writer_close(&out);
}

/* The size of the body that a message's metadata tells; false where it has an unusual form. */
static bool read_head(Reader head, uint64_t *body_size) {
    bool told = false;
    Field field;
    while (left(&head) > 0) {
        if (!read_field(&head, &field)) return false;
        switch (field.tag) {
        case 0x0a:
            if (!is_pair(field.bytes)) return false;
            break;
        case 0x18:
            if (field.number > INT32_MAX) return false;
            *body_size = field.number;
            told = true;
            break;
        case 0x12: case 0x20: case 0x28: case 0x30: case 0x3a: case 0x40: case 0x48: case 0x50:
            break;
        default: return false;
        }
    }
    return told;
}

static bool read_message(Reader *payload, Reader *head, Reader *body) {
    uint32_t head_size;
    uint64_t body_size;
    return read_u32(payload, &head_size) && read_part(payload, head_size, head) &&
           read_head(*head, &body_size) && read_part(payload, body_size, body);
}

PyObject *inner_unpack(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    Py_ssize_t position, count_max, count = 0;
    Reader payload, head, body;
    if (!argument_count("unpack", given, 3) || !argument_size(arguments[1], &position) ||
        !argument_size(arguments[2], &count_max) ||
        !argument_bytes(arguments[0], position, &payload))
        return NULL;
    const uint8_t *start = payload.at, *end = payload.at;
    for (Reader rest = payload; count < count_max && read_message(&rest, &head, &body); count++)
        end = rest.at;
    PyObject *heads = PyList_New(count), *bodies = PyList_New(count);
    bool ok = heads != NULL && bodies != NULL;
    for (Py_ssize_t i = 0; ok && i < count && read_message(&payload, &head, &body); i++)
        ok = put(heads, i, bytes_of(&head)) && put(bodies, i, bytes_of(&body));
    if (ok) return Py_BuildValue("(nNN)", position + (end - start), heads, bodies);
    Py_XDECREF(heads);
    Py_XDECREF(bodies);
    return NULL;
}

/* A tuple of a kind of them. A tuple is what allocating one leaves to be filled, of any kind. */
static PyObject *row(PyTypeObject *kind, PyObject *owner, Py_ssize_t index, const Reader *head,
                     const Reader *body) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(kind, Py_tp_alloc);
    PyObject *row = allocate(kind, 4);
    if (row == NULL) return NULL;
    if (put_in_tuple(row, 0, Py_NewRef(owner)) && put_in_tuple(row, 1, PyLong_FromSsize_t(index)) &&
        put_in_tuple(row, 2, bytes_of(head)) && put_in_tuple(row, 3, bytes_of(body)))
        return row;
    Py_DECREF(row);
    return NULL;
}

PyObject *inner_unpack_as(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    Py_ssize_t position, count_max, count = 0;
    Reader payload, head, body;
    if (!argument_count("unpack_as", given, 5) || !argument_size(arguments[3], &position) ||
        !argument_size(arguments[4], &count_max) ||
        !argument_bytes(arguments[2], position, &payload))
        return NULL;
    PyTypeObject *kind = (PyTypeObject *)arguments[0];
    if (!PyType_Check(arguments[0]) || !PyType_IsSubtype(kind, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "a kind of tuple is required");
        return NULL;
    }
    for (Reader rest = payload; count < count_max && read_message(&rest, &head, &body);) count++;
    PyObject *rows = PyList_New(count);
    for (Py_ssize_t i = 0; rows != NULL && i < count && read_message(&payload, &head, &body); i++)
        if (!put(rows, i, row(kind, arguments[1], i, &head, &body))) Py_CLEAR(rows);
    return rows;
}
