/* Batches as columns: plain/columns.py says which. */
#include "inner.h"

enum { VALUE = 1, KEY = 2, ORDERING_KEY = 4, EVENT_TIME = 8, SEQUENCE_ID = 16, PROPERTIES = 32 };

/* What a message of a batch says of itself. */
typedef struct {
    Reader key, ordering_key, body;
    bool has_key, base64, has_ordering_key, has_event_time, has_sequence_id, has_size;
    uint64_t event_time, sequence_id, size;
    size_t properties, names, texts; /* How many, and the bytes of each side. */
} Own;

static bool read_pair(Reader pair, Reader *name, Reader *text) {
    Field field;
    if (!is_pair(pair) || !read_field(&pair, &field)) return false;
    *name = field.bytes;
    if (!read_field(&pair, &field)) return false;
    *text = field.bytes;
    return true;
}

static bool read_own(Reader head, Own *own) {
    static const Own nothing;
    Reader name, text;
    Field field;
    *own = nothing;
    while (left(&head) > 0) {
        if (!read_field(&head, &field)) return false;
        switch (field.tag) {
        case 0x0a:
            if (!read_pair(field.bytes, &name, &text)) return false;
            own->properties++;
            own->names += left(&name);
            own->texts += left(&text);
            break;
        case 0x12: own->key = field.bytes; own->has_key = true; break;
        case 0x18:
            if (field.number > INT32_MAX) return false;
            own->size = field.number;
            own->has_size = true;
            break;
        case 0x28: own->event_time = field.number; own->has_event_time = true; break;
        case 0x30: own->base64 = field.number != 0; break;
        case 0x3a: own->ordering_key = field.bytes; own->has_ordering_key = true; break;
        case 0x40: own->sequence_id = field.number; own->has_sequence_id = true; break;
        case 0x20: case 0x48: case 0x50: break;
        default: return false;
        }
    }
    return own->has_size;
}

static bool read_message(Reader *payload, Reader *head, Own *own) {
    uint32_t size;
    return read_u32(payload, &size) && read_part(payload, size, head) && read_own(*head, own) &&
           read_part(payload, own->size, &own->body);
}

/* Bits, the lowest of a byte first, as Arrow has them. */
typedef struct {
    Writer out;
    unsigned byte, count;
} Bits;

static void write_bit(Bits *bits, bool bit) {
    bits->byte |= (unsigned)bit << bits->count++;
    if (bits->count < 8) return;
    write_byte(&bits->out, (uint8_t)bits->byte);
    bits->byte = bits->count = 0;
}

static void write_rest(Bits *bits) {
    while (bits->count != 0) write_bit(bits, false);
}

/* A column of bytes: where each row ends, and all rows' bytes. */
typedef struct {
    Writer ends, data;
    int32_t end;
} Strings;

static void write_string(Strings *strings, Reader data) {
    write_bytes(&strings->data, data.at, left(&data));
    strings->end += (int32_t)left(&data);
    write_bytes(&strings->ends, &strings->end, sizeof strings->end);
}

typedef struct {
    size_t rows, values, keys, ordering_keys, properties, names, texts;
} Sizes;

typedef struct {
    Strings values, keys, ordering_keys, names, texts;
    Bits has_key, base64, has_ordering_key, has_event_time, has_sequence_id;
    Writer event_times, sequence_ids, properties;
    int32_t property;
} Columns;

static bool count_message(Sizes *sizes, const Own *own) {
    sizes->rows++;
    sizes->properties += own->properties;
    return add_size(&sizes->values, left(&own->body)) && add_size(&sizes->keys, left(&own->key)) &&
           add_size(&sizes->ordering_keys, left(&own->ordering_key)) &&
           add_size(&sizes->names, own->names) && add_size(&sizes->texts, own->texts);
}

static void write_properties(Columns *columns, Reader head) {
    Reader name, text;
    Field field;
    while (left(&head) > 0 && read_field(&head, &field))
        if (field.tag == 0x0a && read_pair(field.bytes, &name, &text)) {
            write_string(&columns->names, name);
            write_string(&columns->texts, text);
            columns->property++;
        }
    write_bytes(&columns->properties, &columns->property, sizeof columns->property);
}

static void write_number(Bits *has, Writer *out, bool told, uint64_t number) {
    write_bit(has, told);
    write_bytes(out, &number, sizeof number);
}

static void write_message(Columns *columns, uint64_t wanted, const Own *own, Reader head) {
    if (wanted & VALUE) write_string(&columns->values, own->body);
    if (wanted & KEY) {
        write_bit(&columns->has_key, own->has_key);
        write_bit(&columns->base64, own->base64);
        write_string(&columns->keys, own->key);
    }
    if (wanted & ORDERING_KEY) {
        write_bit(&columns->has_ordering_key, own->has_ordering_key);
        write_string(&columns->ordering_keys, own->ordering_key);
    }
    if (wanted & EVENT_TIME)
        write_number(&columns->has_event_time, &columns->event_times, own->has_event_time, own->event_time);
    if (wanted & SEQUENCE_ID)
        write_number(&columns->has_sequence_id, &columns->sequence_ids, own->has_sequence_id,
                     own->sequence_id);
    if (wanted & PROPERTIES) write_properties(columns, head);
}

typedef struct {
    PyObject *payloads, *starts, *counts, *firsts, *stops;
    Py_ssize_t length;
} Batches;

/* Goes over all messages: without Columns to add up sizes, with them to write. False with an
 * exception, or without one where something has an unusual form. */
static bool each_message(const Batches *batches, uint64_t wanted, Sizes *sizes, Columns *columns) {
    for (Py_ssize_t i = 0; i < batches->length; i++) {
        Py_ssize_t start, count, first, stop;
        Reader payload, head, before;
        Own own;
        if (!item_bytes(batches->payloads, i, &payload) ||
            !argument_size(PyList_GetItem(batches->starts, i), &start) ||
            !argument_size(PyList_GetItem(batches->counts, i), &count) ||
            !argument_size(PyList_GetItem(batches->firsts, i), &first) ||
            !argument_size(PyList_GetItem(batches->stops, i), &stop))
            return false;
        if (!read_part(&payload, (uint64_t)start, &before)) return false;
        for (Py_ssize_t at = 0; at < count; at++) {
            if (!read_message(&payload, &head, &own)) return false;
            if (at < first || at >= stop) continue;
            if (columns != NULL) write_message(columns, wanted, &own, head);
            else if (!count_message(sizes, &own)) return false;
        }
    }
    return true;
}

/* What is opened here is closed by ``columns_closed``, whatever has happened. */
static bool strings_open(Strings *strings, size_t rows, size_t size) {
    if (size > INT32_MAX || rows >= INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "more bytes than one column has room for: 2 GiB");
        return false;
    }
    if (!writer_open(&strings->ends, 4 * (rows + 1)) || !writer_open(&strings->data, size)) return false;
    write_bytes(&strings->ends, &strings->end, sizeof strings->end);
    return true;
}

static bool bits_open(Bits *bits, size_t rows) { return writer_open(&bits->out, (rows + 7) / 8); }

/* The bytes; NULL where they were not wanted, or there is an exception. */
static PyObject *closed(Writer *writer) {
    PyObject *bytes = NULL;
    if (writer->bytes != NULL && !PyErr_Occurred()) bytes = writer_close(writer);
    else if (writer->bytes != NULL) writer_drop(writer);
    writer->bytes = NULL;
    return bytes;
}

static PyObject *bits_closed(Bits *bits) {
    if (bits->out.bytes == NULL) return NULL;
    write_rest(bits);
    return closed(&bits->out);
}

static bool columns_open(Columns *columns, uint64_t wanted, const Sizes *sizes) {
    size_t rows = sizes->rows;
    return (!(wanted & VALUE) || strings_open(&columns->values, rows, sizes->values)) &&
           (!(wanted & KEY) || (bits_open(&columns->has_key, rows) && bits_open(&columns->base64, rows) &&
                                strings_open(&columns->keys, rows, sizes->keys))) &&
           (!(wanted & ORDERING_KEY) ||
            (bits_open(&columns->has_ordering_key, rows) &&
             strings_open(&columns->ordering_keys, rows, sizes->ordering_keys))) &&
           (!(wanted & EVENT_TIME) || (bits_open(&columns->has_event_time, rows) &&
                                       writer_open(&columns->event_times, 8 * rows))) &&
           (!(wanted & SEQUENCE_ID) || (bits_open(&columns->has_sequence_id, rows) &&
                                        writer_open(&columns->sequence_ids, 8 * rows))) &&
           (!(wanted & PROPERTIES) ||
            (writer_open(&columns->properties, 4 * (rows + 1)) &&
             strings_open(&columns->names, sizes->properties, sizes->names) &&
             strings_open(&columns->texts, sizes->properties, sizes->texts)));
}

/* The buffers in the order that plain/columns.py tells; those not wanted are not there. */
static PyObject *columns_closed(Columns *columns, size_t rows) {
    PyObject *found[] = {
        closed(&columns->values.ends), closed(&columns->values.data),
        bits_closed(&columns->has_key), bits_closed(&columns->base64),
        closed(&columns->keys.ends), closed(&columns->keys.data),
        bits_closed(&columns->has_ordering_key),
        closed(&columns->ordering_keys.ends), closed(&columns->ordering_keys.data),
        bits_closed(&columns->has_event_time), closed(&columns->event_times),
        bits_closed(&columns->has_sequence_id), closed(&columns->sequence_ids),
        closed(&columns->properties), closed(&columns->names.ends), closed(&columns->names.data),
        closed(&columns->texts.ends), closed(&columns->texts.data),
    };
    const Py_ssize_t count = sizeof found / sizeof *found;
    PyObject *buffers = PyErr_Occurred() ? NULL : PyList_New(0);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (buffers != NULL && found[i] != NULL && PyList_Append(buffers, found[i]) < 0) Py_CLEAR(buffers);
        Py_XDECREF(found[i]);
    }
    return buffers == NULL ? NULL : Py_BuildValue("(nN)", (Py_ssize_t)rows, buffers);
}

PyObject *inner_columns(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    static const Columns none;
    Py_ssize_t starts, counts, firsts, stops;
    uint64_t wanted;
    Batches batches;
    Columns columns = none;
    Sizes sizes = {0};
    if (!argument_count("columns", given, 6) ||
        !argument_list(batches.payloads = arguments[0], &batches.length) ||
        !argument_list(batches.starts = arguments[1], &starts) ||
        !argument_list(batches.counts = arguments[2], &counts) ||
        !argument_list(batches.firsts = arguments[3], &firsts) ||
        !argument_list(batches.stops = arguments[4], &stops) || !as_u64(arguments[5], &wanted))
        return NULL;
    if (starts != batches.length || counts != batches.length || firsts != batches.length || stops != batches.length) {
        PyErr_SetString(PyExc_ValueError, "lists of different lengths");
        return NULL;
    }
    if (!each_message(&batches, wanted, &sizes, NULL)) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    bool ok = columns_open(&columns, wanted, &sizes);
    if (ok && wanted & PROPERTIES)
        write_bytes(&columns.properties, &columns.property, sizeof columns.property);
    ok = ok && each_message(&batches, wanted, &sizes, &columns);
    if (!ok && !PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "a list changed while it was read");
    return columns_closed(&columns, sizes.rows);
}
