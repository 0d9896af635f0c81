/* Packs messages into one payload, and takes them out again: plain/batches.py says how. */
#include "inner.h"

/* What one message says of itself, as ``Single`` of message/batch.py has it; None: nothing. */
typedef struct {
    Reader key, ordering_key;
    PyObject *properties; /* A dict, or NULL. */
    uint64_t event_time, sequence_id;
    size_t head_size;
    bool has_key, base64, has_ordering_key, has_event_time, has_sequence_id, null_value, compacted_out;
} Own;

static bool text_bytes(PyObject *text, Reader *reader) {
    Py_ssize_t size;
    const char *at = text == NULL ? NULL : PyUnicode_AsUTF8AndSize(text, &size);
    if (at == NULL) return false;
    reader->at = (const uint8_t *)at;
    reader->end = reader->at + size;
    return true;
}

static bool load_number(PyObject *item, bool *has, uint64_t *number) {
    if (item == NULL || item == Py_None) return item != NULL;
    *has = true;
    return as_u64(item, number);
}

static size_t part_size(const Reader *part) { return 1 + varint_size(left(part)) + left(part); }

static void write_part(Writer *out, uint8_t tag, const Reader *part) {
    write_field(out, tag, left(part));
    write_bytes(out, part->at, left(part));
}

/* Goes over the properties: without a Writer to add up their sizes, with one to write them. */
static bool each_property(const Own *own, size_t *size, Writer *out) {
    PyObject *name, *value;
    Py_ssize_t at = 0;
    Reader first, second;
    while (own->properties != NULL && PyDict_Next(own->properties, &at, &name, &value)) {
        if (!text_bytes(name, &first) || !text_bytes(value, &second)) return false;
        size_t pair = part_size(&first) + part_size(&second);
        *size += 1 + varint_size(pair) + pair;
        if (out == NULL) continue;
        write_field(out, 0x0a, pair);
        write_part(out, 0x0a, &first);
        write_part(out, 0x12, &second);
    }
    return true;
}

static bool load_single(PyObject *single, Own *own) {
    PyObject *key, *ordering_key;
    if (single == Py_None) return true;
    if (!PyTuple_Check(single) || PyTuple_Size(single) != 8) {
        PyErr_SetString(PyExc_TypeError, "what a message says of itself is a Single, or None");
        return false;
    }
    key = PyTuple_GetItem(single, 0);
    ordering_key = PyTuple_GetItem(single, 2);
    own->properties = PyTuple_GetItem(single, 3);
    own->has_key = key != Py_None;
    own->has_ordering_key = ordering_key != Py_None;
    own->base64 = PyTuple_GetItem(single, 1) == Py_True;
    own->null_value = PyTuple_GetItem(single, 6) == Py_True;
    own->compacted_out = PyTuple_GetItem(single, 7) == Py_True;
    if (!PyDict_Check(own->properties)) {
        PyErr_SetString(PyExc_TypeError, "properties are a dict");
        return false;
    }
    return (!own->has_key || text_bytes(key, &own->key)) &&
           (!own->has_ordering_key || argument_bytes(ordering_key, 0, &own->ordering_key)) &&
           load_number(PyTuple_GetItem(single, 4), &own->has_event_time, &own->event_time) &&
           load_number(PyTuple_GetItem(single, 5), &own->has_sequence_id, &own->sequence_id);
}

/* A message of the list. ``first``: the sequence id of the first one, or NULL for none. */
static bool load_own(PyObject *singles, Py_ssize_t at, const uint64_t *first, const Reader *body, Own *own) {
    static const Own nothing;
    *own = nothing;
    if (singles != NULL && !load_single(PyList_GetItem(singles, at), own)) return false;
    if (first != NULL && !own->has_sequence_id) {
        own->has_sequence_id = true;
        own->sequence_id = *first + (uint64_t)at;
    }
    own->head_size = 1 + varint_size(left(body)) + 2 * (size_t)own->compacted_out +
                     2 * (size_t)own->base64 + 2 * (size_t)own->null_value;
    if (own->has_key) own->head_size += part_size(&own->key);
    if (own->has_ordering_key) own->head_size += part_size(&own->ordering_key);
    if (own->has_event_time) own->head_size += 1 + varint_size(own->event_time);
    if (own->has_sequence_id) own->head_size += 1 + varint_size(own->sequence_id);
    return each_property(own, &own->head_size, NULL);
}

static bool write_own(Writer *out, const Own *own, const Reader *body) {
    size_t size = 0;
    write_u32(out, (uint32_t)own->head_size);
    if (!each_property(own, &size, out)) return false;
    if (own->has_key) write_part(out, 0x12, &own->key);
    write_field(out, 0x18, left(body));
    if (own->compacted_out) write_field(out, 0x20, 1);
    if (own->has_event_time) write_field(out, 0x28, own->event_time);
    if (own->base64) write_field(out, 0x30, 1);
    if (own->has_ordering_key) write_part(out, 0x3a, &own->ordering_key);
    if (own->has_sequence_id) write_field(out, 0x40, own->sequence_id);
    if (own->null_value) write_field(out, 0x48, 1);
    write_bytes(out, body->at, left(body));
    return true;
}

PyObject *inner_pack(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    Py_ssize_t count, others;
    uint64_t number, *first = NULL;
    size_t size = 0;
    Reader body;
    Writer out;
    Own own;
    if (!argument_count("pack", given, 3) || !argument_list(arguments[0], &count)) return NULL;
    if (arguments[1] != Py_None) {
        if (!as_u64(arguments[1], &number)) return NULL;
        first = &number;
    }
    PyObject *singles = arguments[2] == Py_None ? NULL : arguments[2];
    if (singles != NULL && !argument_list(singles, &others)) return NULL;
    if (singles != NULL && others != count) {
        PyErr_SetString(PyExc_ValueError, "lists of different lengths");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (!item_bytes(arguments[0], i, &body) || !load_own(singles, i, first, &body, &own) ||
            !add_size(&size, 4 + own.head_size) || !add_size(&size, left(&body)))
            return NULL;
    if (!writer_open(&out, size)) return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (item_bytes(arguments[0], i, &body) && load_own(singles, i, first, &body, &own) &&
            write_own(&out, &own, &body))
            continue;
        writer_drop(&out);
        return NULL;
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

/* A tuple of a kind of them. A tuple is what allocating one leaves to be filled, of any kind.
   The collector of garbage is not told of it, which would cost as much as making it: so no owner may
   hold what its rows are held by, for such a circle stays. */
static PyObject *row(PyTypeObject *kind, PyObject *owner, Py_ssize_t index, const Reader *head,
                     const Reader *body) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(kind, Py_tp_alloc);
    PyObject *row = allocate(kind, 4);
    if (row == NULL) return NULL;
    if (put_in_tuple(row, 0, Py_NewRef(owner)) && put_in_tuple(row, 1, PyLong_FromSsize_t(index)) &&
        put_in_tuple(row, 2, bytes_of(head)) && put_in_tuple(row, 3, bytes_of(body))) {
        PyObject_GC_UnTrack(row);
        return row;
    }
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
