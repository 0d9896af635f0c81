/* Frames that add entries to a bookie, and its answers, and what it stores: plain/adds.py says what they are. */
#include "inner.h"

#define JOINED_SIZE_MAX 4096 /* as in plain/adds.py */
#define ADD 0x02010000u
#define OPCODE 0xFFFF0000u
#define HEAD_SIZE 32
#define MESSAGE_HEAD_SIZE 6
#define ANSWER_SIZE 24 /* behind its size */

/* What is added, and of it one entry. */
typedef struct {
    Reader before, entry;
    PyObject *data, *checksums; /* Py_None: these are no messages. */
    uint64_t ledger, first, last_confirmed, length, checksum;
    size_t message_head_size;
} Add;

static void write_u64(Writer *out, uint64_t value) {
    write_u32(out, (uint32_t)(value >> 32));
    write_u32(out, (uint32_t)value);
}

static bool load(Add *add, Py_ssize_t at) {
    if (!item_bytes(add->data, at, &add->entry) ||
        (add->message_head_size != 0 && !item_u64(add->checksums, at, &add->checksum)))
        return false;
    if (left(&add->entry) < UINT32_MAX / 2) return true;
    PyErr_SetString(PyExc_ValueError, "an entry that no frame has room for");
    return false;
}

/* All before the data. */
static size_t head_size(const Add *add) {
    return 4 + left(&add->before) + HEAD_SIZE + 4 + add->message_head_size;
}

static void write_head(Writer *out, Add *add, Py_ssize_t at) {
    uint8_t checked[HEAD_SIZE + MESSAGE_HEAD_SIZE];
    size_t size = HEAD_SIZE + add->message_head_size;
    Writer head = {NULL, checked, checked + size, false};
    add->length += add->message_head_size + left(&add->entry);
    write_u64(&head, add->ledger);
    write_u64(&head, add->first + (uint64_t)at);
    write_u64(&head, add->last_confirmed);
    write_u64(&head, add->length);
    if (add->message_head_size != 0) {
        write_bytes(&head, "\x0e\x01", 2);
        write_u32(&head, (uint32_t)add->checksum);
    }
    write_u32(out, (uint32_t)(head_size(add) - 4 + left(&add->entry)));
    write_bytes(out, add->before.at, left(&add->before));
    write_bytes(out, checked, HEAD_SIZE);
    write_u32(out, checksum_on(checksum_of(checked, size), add->entry.at, left(&add->entry)));
    write_bytes(out, checked + HEAD_SIZE, add->message_head_size);
}

static PyObject *joined(Add *add, Py_ssize_t entries, size_t size) {
    Writer out;
    if (!writer_open(&out, size)) return NULL;
    for (Py_ssize_t i = 0; i < entries; i++) {
        if (!load(add, i)) {
            writer_drop(&out);
            return NULL;
        }
        write_head(&out, add, i);
        write_bytes(&out, add->entry.at, left(&add->entry));
    }
    PyObject *pieces = PyList_New(1);
    if (pieces == NULL) {
        writer_drop(&out);
        return NULL;
    }
    if (put(pieces, 0, writer_close(&out))) return pieces;
    Py_DECREF(pieces);
    return NULL;
}

static PyObject *apart(Add *add, Py_ssize_t entries) {
    PyObject *pieces = PyList_New(2 * entries);
    Writer out;
    for (Py_ssize_t i = 0; pieces != NULL && i < entries; i++) {
        bool ok = load(add, i) && writer_open(&out, head_size(add));
        if (ok) {
            write_head(&out, add, i);
            ok = put(pieces, 2 * i, writer_close(&out)) &&
                 put(pieces, 2 * i + 1, Py_NewRef(PyList_GetItem(add->data, i)));
        }
        if (!ok) Py_CLEAR(pieces);
    }
    return pieces;
}

PyObject *inner_add_frames(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    Py_ssize_t entries, checksums;
    size_t size = 0;
    Add add;
    if (!argument_count("add_frames", count, 7) || !argument_bytes(arguments[0], 0, &add.before) ||
        !as_u64(arguments[1], &add.ledger) || !as_u64(arguments[2], &add.first) ||
        !as_u64(arguments[3], &add.last_confirmed) || !as_u64(arguments[4], &add.length) ||
        !argument_list(add.data = arguments[5], &entries))
        return NULL;
    add.checksums = arguments[6];
    add.message_head_size = add.checksums == Py_None ? 0 : MESSAGE_HEAD_SIZE;
    checksums = entries;
    if (add.message_head_size != 0 && !argument_list(add.checksums, &checksums)) return NULL;
    if (entries != checksums) {
        PyErr_SetString(PyExc_ValueError, "lists of different lengths");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < entries; i++)
        if (!load(&add, i) || !add_size(&size, head_size(&add)) || !add_size(&size, left(&add.entry)))
            return NULL;
    if (entries > PY_SSIZE_T_MAX / JOINED_SIZE_MAX) return PyErr_NoMemory();
    return size < (size_t)entries * JOINED_SIZE_MAX ? joined(&add, entries, size) : apart(&add, entries);
}

typedef struct {
    uint64_t ledger, entry;
} Added;

static bool read_u64(Reader *reader, uint64_t *value) {
    uint32_t high, low;
    if (!read_u32(reader, &high) || !read_u32(reader, &low)) return false;
    *value = (uint64_t)high << 32 | low;
    return true;
}

/* The next answer, if it is all here and says that an entry was added. */
static bool next_added(Reader *data, Added *added) {
    uint32_t size, word, code;
    Reader answer = *data;
    if (!read_u32(&answer, &size) || size != ANSWER_SIZE || !read_u32(&answer, &word) ||
        (word & OPCODE) != ADD || !read_u32(&answer, &code) || code != 0 ||
        !read_u64(&answer, &added->ledger) || !read_u64(&answer, &added->entry))
        return false;
    *data = answer;
    return true;
}

/* Of the answers that follow, those of one ledger and consecutive entries. */
static bool next_range(Reader *data, Added *first, uint64_t *last) {
    Added added;
    if (!next_added(data, first)) return false;
    *last = first->entry;
    for (Reader rest = *data; next_added(&rest, &added); *data = rest) {
        if (added.ledger != first->ledger || *last == INT64_MAX || added.entry != *last + 1) break;
        *last = added.entry;
    }
    return true;
}

PyObject *inner_cut_added(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    Py_ssize_t position, ranges = 0;
    Reader data;
    Added first;
    uint64_t last;
    if (!argument_count("cut_added", count, 2) || !argument_size(arguments[1], &position) ||
        !argument_bytes(arguments[0], position, &data))
        return NULL;
    for (Reader rest = data; next_range(&rest, &first, &last);) ranges++;
    const uint8_t *start = data.at;
    PyObject *found = PyList_New(3 * ranges);
    for (Py_ssize_t i = 0; found != NULL && i < ranges; i++)
        if (!next_range(&data, &first, &last) ||
            !put(found, 3 * i, PyLong_FromLongLong((int64_t)first.ledger)) ||
            !put(found, 3 * i + 1, PyLong_FromLongLong((int64_t)first.entry)) ||
            !put(found, 3 * i + 2, PyLong_FromLongLong((int64_t)last)))
            Py_CLEAR(found);
    return found == NULL ? NULL : Py_BuildValue("Nn", found, position + (Py_ssize_t)(data.at - start));
}

/* Where the entries that are opened come from. */
typedef struct {
    PyObject *stored;
    uint64_t ledger, first;
    Py_ssize_t position;
    bool messages;
} Stored;

/* The data of the entry at an index, if it is what was asked for; an error is told by Python. */
static bool open_one(const Stored *from, Py_ssize_t index, Reader *data) {
    Reader head, message_head;
    uint64_t ledger, entry;
    uint32_t digest;
    if (!item_bytes(from->stored, from->position + index, data) || !read_part(data, HEAD_SIZE, &head) ||
        !read_u32(data, &digest))
        return false;
    uint32_t found = checksum_on(checksum_of(head.at, HEAD_SIZE), data->at, left(data));
    return read_u64(&head, &ledger) && read_u64(&head, &entry) && ledger == from->ledger &&
           entry == from->first + (uint64_t)index && found == digest &&
           (!from->messages || (read_part(data, MESSAGE_HEAD_SIZE, &message_head) &&
                                read_literal(&message_head, "\x0e\x01", 2)));
}

PyObject *inner_open_stored(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    Py_ssize_t entries, good = 0;
    Stored from;
    Reader data;
    if (!argument_count("open_stored", count, 5) ||
        !argument_list(from.stored = arguments[0], &entries) ||
        !argument_size(arguments[1], &from.position) || !as_u64(arguments[2], &from.ledger) ||
        !as_u64(arguments[3], &from.first))
        return NULL;
    if (from.position > entries) {
        PyErr_SetString(PyExc_ValueError, "a position behind the entries");
        return NULL;
    }
    from.messages = arguments[4] == Py_True;
    while (good < entries - from.position && open_one(&from, good, &data)) good++;
    if (PyErr_Occurred()) return NULL;
    PyObject *opened = PyList_New(good), *checksums = PyList_New(good);
    for (Py_ssize_t i = 0; opened != NULL && checksums != NULL && i < good; i++)
        if (!open_one(&from, i, &data) || !put(opened, i, bytes_of(&data)) ||
            !put(checksums, i, PyLong_FromUnsignedLong(checksum_of(data.at, left(&data)))))
            Py_CLEAR(opened);
    if (opened != NULL && checksums != NULL) return Py_BuildValue("NN", opened, checksums);
    Py_XDECREF(opened);
    Py_XDECREF(checksums);
    return NULL;
}
