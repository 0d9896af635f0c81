/* Rows of Arrow's columns to batches: plain/rows.py says how. */
#include "inner.h"

enum { BUFFERS_MAX = 3 * 3 + 2 + 2 + 2 * 3 + 1 }; /* Of all columns, and of the rows that are picked. */

/* The buffers of a call's arguments: release them. */
typedef struct {
    Py_buffer views[BUFFERS_MAX];
    int count;
} Held;

static void release(Held *held) {
    while (held->count > 0) PyBuffer_Release(&held->views[--held->count]);
}

static bool hold(Held *held, PyObject *buffer, Reader *bytes) {
    if (buffer == NULL) return false;
    if (held->count == BUFFERS_MAX) {
        PyErr_SetString(PyExc_ValueError, "too many buffers");
        return false;
    }
    Py_buffer *view = &held->views[held->count];
    if (PyObject_GetBuffer(buffer, view, PyBUF_SIMPLE) < 0) return false;
    held->count++;
    bytes->at = view->buf;
    bytes->end = bytes->at + view->len;
    return true;
}

/* A column: its row 0 is at ``first`` of the buffers. ``numbers`` are of 4 bytes, places where a row
 * begins and the next one ends it, or of 8. */
typedef struct {
    Reader bits, numbers, data;
    Py_ssize_t first;
    bool there, has_bits;
} Column;

typedef struct {
    Column value, key, ordering_key, event_time, properties, names, texts;
} Columns;

static bool shape_error(void) {
    PyErr_SetString(PyExc_ValueError, "a column has another shape, or ends too soon");
    return false;
}

static bool load_column(Held *held, PyObject *given, Py_ssize_t size, Column *column) {
    if (given == NULL || given == Py_None) return given != NULL;
    if (!PyTuple_Check(given) || PyTuple_Size(given) != size) return shape_error();
    PyObject *bits = PyTuple_GetItem(given, 1);
    column->there = true;
    column->has_bits = bits != Py_None;
    return argument_size(PyTuple_GetItem(given, 0), &column->first) &&
           (!column->has_bits || hold(held, bits, &column->bits)) &&
           hold(held, PyTuple_GetItem(given, 2), &column->numbers);
}

static bool load_strings(Held *held, PyObject *given, Column *column) {
    return load_column(held, given, 4, column) &&
           (!column->there || hold(held, PyTuple_GetItem(given, 3), &column->data));
}

static bool load_columns(Held *held, PyObject *given, Columns *columns) {
    if (!PyTuple_Check(given) || PyTuple_Size(given) != 5) return shape_error();
    PyObject *properties = PyTuple_GetItem(given, 4);
    return load_strings(held, PyTuple_GetItem(given, 0), &columns->value) &&
           load_strings(held, PyTuple_GetItem(given, 1), &columns->key) &&
           load_strings(held, PyTuple_GetItem(given, 2), &columns->ordering_key) &&
           load_column(held, PyTuple_GetItem(given, 3), 3, &columns->event_time) &&
           load_column(held, properties, 5, &columns->properties) &&
           (!columns->properties.there ||
            (load_strings(held, PyTuple_GetItem(properties, 3), &columns->names) &&
             load_strings(held, PyTuple_GetItem(properties, 4), &columns->texts)));
}

/* A number of a column, if it is there. */
static bool number_at(const Column *column, Py_ssize_t row, void *number, size_t size) {
    size_t index = (size_t)column->first + (size_t)row;
    if (index >= left(&column->numbers) / size) return shape_error();
    memcpy(number, column->numbers.at + index * size, size);
    return true;
}

static bool is_there(const Column *column, Py_ssize_t row, bool *there) {
    size_t index = (size_t)column->first + (size_t)row;
    *there = column->there;
    if (!column->has_bits) return true;
    if (index / 8 >= left(&column->bits)) return shape_error();
    *there = column->bits.at[index / 8] >> index % 8 & 1;
    return true;
}

/* From where to where a row goes, of which there is not always one: then there is nothing in it. */
static bool places_at(const Column *column, Py_ssize_t row, bool *there, int32_t *from, int32_t *to) {
    *from = *to = 0;
    if (!is_there(column, row, there)) return false;
    if (!*there) return true;
    if (!number_at(column, row, from, 4) || !number_at(column, row + 1, to, 4)) return false;
    return (*from >= 0 && *from <= *to) || shape_error();
}

static bool string_at(const Column *column, Py_ssize_t row, bool *there, Reader *string) {
    int32_t from, to;
    string->at = string->end = NULL;
    if (!places_at(column, row, there, &from, &to)) return false;
    if (from == to) return true;
    if ((size_t)to > left(&column->data)) return shape_error();
    string->at = column->data.at + from;
    string->end = column->data.at + to;
    return true;
}

/* The next character of a text in UTF-8, in the strict form; false at what is none. */
static bool read_character(Reader *text, uint32_t *character) {
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    uint8_t byte = *text->at++;
    *character = byte;
    if (byte < 0x80) return true;
    int more = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : 1;
    if (byte < 0xC2 || byte > 0xF4 || left(text) < (size_t)more) return false;
    *character = byte & (0x3Fu >> more);
    for (int i = 0; i < more; i++) {
        if (text->at[i] >> 6 != 2) return false;
        *character = *character << 6 | (text->at[i] & 0x3F);
    }
    text->at += more;
    return *character >= least[more] && *character <= 0x10FFFF &&
           (*character < 0xD800 || *character > 0xDFFF);
}

static bool is_text(Reader bytes) {
    uint32_t character;
    while (left(&bytes) > 0)
        if (!read_character(&bytes, &character)) return false;
    return true;
}

static size_t base64_size(size_t size) { return (size + 2) / 3 * 4; }

/* Four characters for up to three bytes. */
static void base64_group(const Reader *bytes, uint8_t characters[4]) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t size = left(bytes) < 3 ? left(bytes) : 3;
    uint32_t group = (uint32_t)bytes->at[0] << 16;
    if (size > 1) group |= (uint32_t)bytes->at[1] << 8;
    if (size > 2) group |= bytes->at[2];
    for (size_t i = 0; i < 4; i++)
        characters[i] = (uint8_t)(i > size ? '=' : digits[group >> (18 - 6 * i) & 0x3F]);
}

/* A message: what a row says. */
typedef struct {
    Reader value, key, ordering_key;
    bool null_value, has_key, base64, has_ordering_key, has_event_time;
    uint64_t event_time, sequence_id;
    int32_t property, properties; /* From one of the names and texts to before another. */
} Message;

static bool load_message(const Columns *columns, Py_ssize_t row, Message *message) {
    bool there, valued;
    int64_t microseconds = 0;
    if (!string_at(&columns->value, row, &valued, &message->value) ||
        !string_at(&columns->key, row, &message->has_key, &message->key) ||
        !string_at(&columns->ordering_key, row, &message->has_ordering_key, &message->ordering_key) ||
        !is_there(&columns->event_time, row, &message->has_event_time) ||
        (message->has_event_time && !number_at(&columns->event_time, row, &microseconds, 8)) ||
        !places_at(&columns->properties, row, &there, &message->property, &message->properties))
        return false;
    if (microseconds < 0) {
        PyErr_SetString(PyExc_ValueError, "an event time before 1970");
        return false;
    }
    message->null_value = columns->value.there && !valued;
    message->event_time = (uint64_t)microseconds / 1000;
    message->base64 = message->has_key && !is_text(message->key);
    return true;
}

static bool property_at(const Columns *columns, int32_t index, bool *there, Reader *name, Reader *text) {
    bool named;
    return string_at(&columns->names, index, &named, name) && string_at(&columns->texts, index, there, text);
}

static size_t part_size(size_t size) { return 1 + varint_size(size) + size; }

static size_t key_size(const Message *message) {
    size_t size = left(&message->key);
    return message->base64 ? base64_size(size) : size;
}

static bool head_size(const Columns *columns, const Message *message, size_t *size) {
    *size = 1 + varint_size(left(&message->value)) + 1 + varint_size(message->sequence_id);
    if (message->has_key) *size += part_size(key_size(message)) + 2 * (size_t)message->base64;
    if (message->has_ordering_key) *size += part_size(left(&message->ordering_key));
    if (message->has_event_time) *size += 1 + varint_size(message->event_time);
    *size += 2 * (size_t)message->null_value;
    for (int32_t index = message->property; index < message->properties; index++) {
        bool there;
        Reader name, text;
        if (!property_at(columns, index, &there, &name, &text)) return false;
        if (there) *size += part_size(part_size(left(&name)) + part_size(left(&text)));
    }
    return true;
}

static void write_part(Writer *out, uint8_t tag, const Reader *part) {
    write_field(out, tag, left(part));
    write_bytes(out, part->at, left(part));
}

static void write_key(Writer *out, const Message *message) {
    Reader key = message->key;
    if (!message->base64) {
        write_part(out, 0x12, &key);
        return;
    }
    write_field(out, 0x12, key_size(message));
    while (left(&key) > 0) {
        uint8_t characters[4];
        base64_group(&key, characters);
        write_bytes(out, characters, 4);
        key.at += left(&key) < 3 ? left(&key) : 3;
    }
}

static bool write_message(const Columns *columns, const Message *message, Writer *out) {
    size_t size;
    if (!head_size(columns, message, &size)) return false;
    write_u32(out, (uint32_t)size);
    for (int32_t index = message->property; index < message->properties; index++) {
        bool there;
        Reader name, text;
        if (!property_at(columns, index, &there, &name, &text)) return false;
        if (!there) continue;
        write_field(out, 0x0a, part_size(left(&name)) + part_size(left(&text)));
        write_part(out, 0x0a, &name);
        write_part(out, 0x12, &text);
    }
    if (message->has_key) write_key(out, message);
    write_field(out, 0x18, left(&message->value));
    if (message->has_event_time) write_field(out, 0x28, message->event_time);
    if (message->base64) write_field(out, 0x30, 1);
    if (message->has_ordering_key) write_part(out, 0x3a, &message->ordering_key);
    write_field(out, 0x40, message->sequence_id);
    if (message->null_value) write_field(out, 0x48, 1);
    write_bytes(out, message->value.at, left(&message->value));
    return true;
}

/* Rows that are picked, in their order: by an int32 each, or the first ones. */
typedef struct {
    Reader indexes;
    bool all;
    Py_ssize_t count;
} Rows;

static bool load_rows(Held *held, PyObject *given, Rows *rows) {
    rows->all = PyLong_Check(given);
    if (rows->all) return argument_size(given, &rows->count);
    if (!hold(held, given, &rows->indexes)) return false;
    rows->count = (Py_ssize_t)(left(&rows->indexes) / 4);
    return true;
}

static bool row_at(const Rows *rows, Py_ssize_t at, Py_ssize_t *row) {
    int32_t index;
    *row = at;
    if (rows->all) return true;
    memcpy(&index, rows->indexes.at + 4 * at, 4);
    *row = index;
    return index >= 0 || shape_error();
}

/* What a message counts in a batch. Its properties have to be text. */
static bool count_message(const Columns *columns, const Message *message, size_t *size) {
    *size = left(&message->value) + left(&message->key) + left(&message->ordering_key);
    for (int32_t index = message->property; index < message->properties; index++) {
        bool there;
        Reader name, text;
        if (!property_at(columns, index, &there, &name, &text)) return false;
        if (!there) continue;
        if (!is_text(name) || !is_text(text)) {
            PyErr_SetString(PyExc_ValueError, "a property that is no text");
            return false;
        }
        *size += left(&name) + left(&text);
    }
    return true;
}

/* Where the batch that begins at a row ends, and what its messages count. */
static bool cut(const Columns *columns, const Rows *rows, Py_ssize_t *at, Py_ssize_t messages_max,
                Py_ssize_t size_max, Py_ssize_t *size) {
    *size = 0;
    for (Py_ssize_t start = *at; *at < rows->count && *at - start < messages_max && *size < size_max; ++*at) {
        Py_ssize_t row;
        Message message;
        size_t more;
        if (!row_at(rows, *at, &row) || !load_message(columns, row, &message) ||
            !count_message(columns, &message, &more))
            return false;
        if (*at > start && more > (size_t)(size_max - *size)) return true;
        *size += (Py_ssize_t)more;
    }
    return true;
}

static PyObject *cut_all(const Columns *columns, const Rows *rows, Py_ssize_t messages_max, Py_ssize_t size_max) {
    PyObject *batches = PyList_New(0);
    for (Py_ssize_t at = 0, size; batches != NULL && at < rows->count;) {
        PyObject *batch = NULL;
        if (cut(columns, rows, &at, messages_max, size_max, &size)) batch = Py_BuildValue("(nn)", at, size);
        if (batch == NULL || PyList_Append(batches, batch) < 0) Py_CLEAR(batches);
        Py_XDECREF(batch);
    }
    return batches;
}

PyObject *inner_cut_rows(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    Held held;
    Rows rows = {.count = 0};
    Columns columns = {.value = {.first = 0}};
    Py_ssize_t messages_max, size_max;
    PyObject *batches = NULL;
    held.count = 0;
    if (!argument_count("cut_rows", given, 4) || !argument_size(arguments[2], &messages_max) ||
        !argument_size(arguments[3], &size_max))
        return NULL;
    if (messages_max == 0 || size_max == 0) {
        PyErr_SetString(PyExc_ValueError, "a batch without room");
        return NULL;
    }
    if (load_columns(&held, arguments[0], &columns) && load_rows(&held, arguments[1], &rows))
        batches = cut_all(&columns, &rows, messages_max, size_max);
    release(&held);
    return batches;
}

static PyObject *pack(const Columns *columns, const Rows *rows, Py_ssize_t start, Py_ssize_t stop, uint64_t first) {
    Message message;
    Py_ssize_t row;
    size_t size, total = 0;
    Writer out;
    for (Py_ssize_t at = start; at < stop; at++) {
        message.sequence_id = first + (uint64_t)(at - start);
        if (!row_at(rows, at, &row) || !load_message(columns, row, &message) ||
            !head_size(columns, &message, &size) || !add_size(&total, 4 + size) ||
            !add_size(&total, left(&message.value)))
            return NULL;
    }
    if (!writer_open(&out, total)) return NULL;
    for (Py_ssize_t at = start; at < stop; at++) {
        message.sequence_id = first + (uint64_t)(at - start);
        if (row_at(rows, at, &row) && load_message(columns, row, &message) &&
            write_message(columns, &message, &out))
            continue;
        writer_drop(&out);
        return NULL;
    }
    return writer_close(&out);
}

PyObject *inner_pack_rows(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    Held held;
    Rows rows = {.count = 0};
    Columns columns = {.value = {.first = 0}};
    Py_ssize_t start, stop;
    uint64_t first;
    PyObject *packed = NULL;
    held.count = 0;
    if (!argument_count("pack_rows", given, 5) || !argument_size(arguments[2], &start) ||
        !argument_size(arguments[3], &stop) || !as_u64(arguments[4], &first))
        return NULL;
    if (load_columns(&held, arguments[0], &columns) && load_rows(&held, arguments[1], &rows)) {
        if (start <= stop && stop <= rows.count) packed = pack(&columns, &rows, start, stop, first);
        else PyErr_SetString(PyExc_ValueError, "a row behind the last");
    }
    release(&held);
    return packed;
}

static uint32_t hash_unit(uint32_t hash, uint32_t unit) { return hash * 31 + unit; }

/* As Java hashes a string, over UTF-16; false: there is no key to go by. */
static bool hash_key(Reader key, bool there, uint32_t *hash) {
    uint32_t character;
    if (!there || left(&key) == 0) return false;
    *hash = 0;
    if (is_text(key)) {
        while (left(&key) > 0 && read_character(&key, &character)) {
            if (character > 0xFFFF) {
                *hash = hash_unit(*hash, 0xD800 + ((character - 0x10000) >> 10));
                character = 0xDC00 + ((character - 0x10000) & 0x3FF);
            }
            *hash = hash_unit(*hash, character);
        }
    } else {
        for (; left(&key) > 0; key.at += left(&key) < 3 ? left(&key) : 3) {
            uint8_t characters[4];
            base64_group(&key, characters);
            for (int i = 0; i < 4; i++) *hash = hash_unit(*hash, characters[i]);
        }
    }
    *hash &= 0x7FFFFFFF;
    return true;
}

/* The partition of each row, into ``found``; how many each one has, into ``counts``. */
static bool choose(const Column *keys, const Rows *rows, uint64_t partitions, uint64_t place, uint64_t run,
                   int32_t *found, Py_ssize_t *counts) {
    for (Py_ssize_t at = 0; at < rows->count; at++) {
        Py_ssize_t row;
        bool there;
        Reader key;
        uint32_t hash;
        if (!row_at(rows, at, &row) || !string_at(keys, row, &there, &key)) return false;
        uint64_t number = hash_key(key, there, &hash) ? hash : (place + (uint64_t)at) / run;
        found[at] = (int32_t)(number % partitions);
        counts[found[at]]++;
    }
    return true;
}

static PyObject *shares(const Rows *rows, Py_ssize_t partitions, const int32_t *found, const Py_ssize_t *counts,
                        Writer *outs) {
    PyObject *shared = PyList_New(partitions);
    Py_ssize_t open = 0, row;
    bool ok = shared != NULL;
    while (ok && open < partitions) {
        ok = writer_open(&outs[open], 4 * (size_t)counts[open]);
        if (ok) open++;
    }
    for (Py_ssize_t at = 0; ok && at < rows->count; at++) {
        ok = row_at(rows, at, &row);
        int32_t index = (int32_t)row;
        if (ok) write_bytes(&outs[found[at]], &index, 4);
    }
    for (Py_ssize_t i = 0; i < open; i++) {
        if (ok) ok = put(shared, i, writer_close(&outs[i]));
        else writer_drop(&outs[i]);
    }
    if (!ok) Py_CLEAR(shared);
    return shared;
}

PyObject *inner_share_rows(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    Held held;
    Rows rows = {.count = 0};
    Column keys = {.first = 0};
    Py_ssize_t partitions, place, run;
    PyObject *shared = NULL;
    held.count = 0;
    if (!argument_count("share_rows", given, 5) || !argument_size(arguments[2], &partitions) ||
        !argument_size(arguments[3], &place) || !argument_size(arguments[4], &run))
        return NULL;
    if (partitions == 0 || partitions > INT32_MAX || run == 0) {
        PyErr_SetString(PyExc_ValueError, "no partition to go to");
        return NULL;
    }
    if (load_strings(&held, arguments[0], &keys) && load_rows(&held, arguments[1], &rows)) {
        int32_t *found = PyMem_Calloc((size_t)rows.count + 1, sizeof *found);
        Py_ssize_t *counts = PyMem_Calloc((size_t)partitions, sizeof *counts);
        Writer *outs = PyMem_Calloc((size_t)partitions, sizeof *outs);
        if (found == NULL || counts == NULL || outs == NULL) PyErr_NoMemory();
        else if (rows.count > INT32_MAX) PyErr_SetString(PyExc_ValueError, "more rows than 2**31");
        else if (choose(&keys, &rows, (uint64_t)partitions, (uint64_t)place, (uint64_t)run, found, counts))
            shared = shares(&rows, partitions, found, counts, outs);
        PyMem_Free(found);
        PyMem_Free(counts);
        PyMem_Free(outs);
    }
    release(&held);
    return shared;
}
