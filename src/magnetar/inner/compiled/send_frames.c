/* Sends of a run of entries: plain/send_frames.py says what they are. */
#include "inner.h"

#define JOINED_SIZE_MAX 4096 /* as in plain/messages.py */

/* What is sent, and of it one entry. */
typedef struct {
    PyObject *data, *checksums, *counts;
    uint64_t producer, first_sequence, sequence, checksum, messages;
    Reader entry;
    size_t send_size;
} Send;

static bool load(Send *send, Py_ssize_t index) {
    if (!item_bytes(send->data, index, &send->entry) ||
        !item_u64(send->checksums, index, &send->checksum) ||
        !item_u64(send->counts, index, &send->messages))
        return false;
    send->sequence = send->first_sequence + (uint64_t)index;
    send->send_size = 2 + varint_size(send->producer) + varint_size(send->sequence) +
                      (send->messages == 1 ? 0 : 1 + varint_size(send->messages));
    if (left(&send->entry) < UINT32_MAX / 2) return true;
    PyErr_SetString(PyExc_ValueError, "an entry that no frame has room for");
    return false;
}

/* All before the entry. */
static size_t head_size(const Send *send) { return 18 + send->send_size; }

static void write_head(Writer *out, const Send *send) {
    write_u32(out, (uint32_t)(14 + send->send_size + left(&send->entry)));
    write_u32(out, (uint32_t)(4 + send->send_size));
    write_bytes(out, "\x08\x06\x32", 3);
    write_byte(out, (uint8_t)send->send_size);
    write_field(out, 0x08, send->producer);
    write_field(out, 0x10, send->sequence);
    if (send->messages != 1) write_field(out, 0x18, send->messages);
    write_bytes(out, "\x0e\x01", 2);
    write_u32(out, (uint32_t)send->checksum);
}

static PyObject *joined(Send *send, Py_ssize_t count, size_t size) {
    Writer out;
    if (!writer_open(&out, size)) return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!load(send, i)) {
            writer_drop(&out);
            return NULL;
        }
        write_head(&out, send);
        write_bytes(&out, send->entry.at, left(&send->entry));
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

static PyObject *apart(Send *send, Py_ssize_t count) {
    PyObject *pieces = PyList_New(2 * count);
    Writer out;
    for (Py_ssize_t i = 0; pieces != NULL && i < count; i++) {
        bool ok = load(send, i) && writer_open(&out, head_size(send));
        if (ok) {
            write_head(&out, send);
            ok = put(pieces, 2 * i, writer_close(&out)) &&
                 put(pieces, 2 * i + 1, Py_NewRef(PyList_GetItem(send->data, i)));
        }
        if (!ok) Py_CLEAR(pieces);
    }
    return pieces;
}

PyObject *inner_send_frames(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    Py_ssize_t entries, checksums, counts;
    size_t size = 0;
    Send send;
    if (!argument_count("send_frames", given, 5) || !as_u64(arguments[0], &send.producer) ||
        !as_u64(arguments[1], &send.first_sequence) ||
        !argument_list(send.data = arguments[2], &entries) ||
        !argument_list(send.checksums = arguments[3], &checksums) ||
        !argument_list(send.counts = arguments[4], &counts))
        return NULL;
    if (entries != checksums || entries != counts) {
        PyErr_SetString(PyExc_ValueError, "lists of different lengths");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < entries; i++)
        if (!load(&send, i) || !add_size(&size, head_size(&send)) ||
            !add_size(&size, left(&send.entry)))
            return NULL;
    if (entries > PY_SSIZE_T_MAX / JOINED_SIZE_MAX) return PyErr_NoMemory();
    return size < (size_t)entries * JOINED_SIZE_MAX ? joined(&send, entries, size)
                                                    : apart(&send, entries);
}
