/* Messages for a consumer out of a run of entries: plain/messages.py says what they are. */
#include "inner.h"

#define JOINED_SIZE_MAX 4096 /* as in plain/messages.py */

/* What is sent, and of it one message. */
typedef struct {
    PyObject *data, *checksums, *picked, *behind;
    uint64_t consumer, ledger, first_entry, step, partition, entry_id, checksum;
    Reader entry, rest;
    size_t id_size, message_size, command_size;
} Message;

static bool load(Message *message, Py_ssize_t at, Py_ssize_t entries, Py_ssize_t *index) {
    *index = at;
    if (message->picked != Py_None && !argument_index(message->picked, at, entries, index)) return false;
    message->rest.at = message->rest.end = (const uint8_t *)"";
    if (message->behind != Py_None && !item_bytes(message->behind, at, &message->rest)) return false;
    if (!item_bytes(message->data, *index, &message->entry) ||
        !item_u64(message->checksums, *index, &message->checksum))
        return false;
    message->entry_id = message->first_entry + (uint64_t)*index * message->step;
    message->id_size = 3 + varint_size(message->ledger) + varint_size(message->entry_id) +
                       varint_size(message->partition);
    message->message_size = 3 + varint_size(message->consumer) + message->id_size + left(&message->rest);
    message->command_size = 3 + varint_size(message->message_size) + message->message_size;
    if (left(&message->rest) < UINT32_MAX / 2 && left(&message->entry) < UINT32_MAX / 2) return true;
    PyErr_SetString(PyExc_ValueError, "an entry that no frame has room for");
    return false;
}

/* All before the entry. */
static size_t head_size(const Message *message) { return 14 + message->command_size; }

static void write_head(Writer *out, const Message *message) {
    write_u32(out, (uint32_t)(10 + message->command_size + left(&message->entry)));
    write_u32(out, (uint32_t)message->command_size);
    write_bytes(out, "\x08\x09\x4a", 3);
    write_varint(out, message->message_size);
    write_field(out, 0x08, message->consumer);
    write_byte(out, 0x12);
    write_byte(out, (uint8_t)message->id_size);
    write_field(out, 0x08, message->ledger);
    write_field(out, 0x10, message->entry_id);
    write_field(out, 0x18, message->partition);
    write_bytes(out, message->rest.at, left(&message->rest));
    write_bytes(out, "\x0e\x01", 2);
    write_u32(out, (uint32_t)message->checksum);
}

static PyObject *joined(Message *message, Py_ssize_t count, Py_ssize_t entries, size_t size) {
    Py_ssize_t index;
    Writer out;
    if (!writer_open(&out, size)) return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!load(message, i, entries, &index)) {
            writer_drop(&out);
            return NULL;
        }
        write_head(&out, message);
        write_bytes(&out, message->entry.at, left(&message->entry));
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

static PyObject *apart(Message *message, Py_ssize_t count, Py_ssize_t entries) {
    PyObject *pieces = PyList_New(2 * count);
    Py_ssize_t index;
    Writer out;
    for (Py_ssize_t i = 0; pieces != NULL && i < count; i++) {
        bool ok = load(message, i, entries, &index) && writer_open(&out, head_size(message));
        if (ok) {
            write_head(&out, message);
            ok = put(pieces, 2 * i, writer_close(&out)) &&
                 put(pieces, 2 * i + 1, Py_NewRef(PyList_GetItem(message->data, index)));
        }
        if (!ok) Py_CLEAR(pieces);
    }
    return pieces;
}

PyObject *inner_message_frames(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    Py_ssize_t entries, checksums, count, behind, index;
    size_t size = 0, body_size = 0;
    Message message;
    message.step = 1;
    if (!argument_count("message_frames", given == 9 ? 8 : given, 8) || !as_u64(arguments[0], &message.consumer) ||
        !as_u64(arguments[1], &message.ledger) || !as_u64(arguments[2], &message.first_entry) ||
        !as_u64(arguments[3], &message.partition) ||
        !argument_list(message.data = arguments[4], &entries) ||
        !argument_list(message.checksums = arguments[5], &checksums) ||
        (given == 9 && !as_u64(arguments[8], &message.step)))
        return NULL;
    message.picked = arguments[6];
    message.behind = arguments[7];
    count = entries;
    if (message.picked != Py_None && !argument_list(message.picked, &count)) return NULL;
    behind = count;
    if (message.behind != Py_None && !argument_list(message.behind, &behind)) return NULL;
    if (entries != checksums || behind != count) {
        PyErr_SetString(PyExc_ValueError, "lists of different lengths");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (!load(&message, i, entries, &index) || !add_size(&body_size, left(&message.entry)) ||
            !add_size(&size, head_size(&message)))
            return NULL;
    if (count > PY_SSIZE_T_MAX / JOINED_SIZE_MAX || !add_size(&size, body_size)) return PyErr_NoMemory();
    return size < (size_t)count * JOINED_SIZE_MAX ? joined(&message, count, entries, size)
                                                  : apart(&message, count, entries);
}
