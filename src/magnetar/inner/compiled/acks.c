/* Cuts runs of plain acknowledgements out of received bytes: plain/acks.py says what they are. */
#include "inner.h"

static bool read_number(Reader *reader, uint8_t tag, uint64_t *value) {
    return read_tag(reader, tag) && read_varint(reader, value) && *value <= INT64_MAX;
}

static bool read_id(Reader *ids, uint64_t *ledger, uint64_t *entry) {
    uint8_t size;
    Reader id;
    return read_tag(ids, 0x1a) && read_byte(ids, &size) && read_part(ids, size, &id) &&
           read_number(&id, 0x08, ledger) && read_number(&id, 0x10, entry) && left(&id) == 0;
}

/* One frame; all of its ids can be read. */
static bool read_ack(Reader *data, uint64_t total_size_max, uint64_t *consumer, Reader *ids) {
    uint32_t total_size, command_size;
    uint64_t size, ledger, entry;
    Reader frame;
    if (!read_u32(data, &total_size) || total_size > total_size_max ||
        !read_part(data, total_size, &frame) || !read_u32(&frame, &command_size) ||
        command_size != left(&frame) || !read_literal(&frame, "\x08\x0a\x52", 3) ||
        !read_varint(&frame, &size) || size != left(&frame) || !read_tag(&frame, 0x08) ||
        !read_varint(&frame, consumer) || !read_literal(&frame, "\x10\x00", 2))
        return false;
    *ids = frame;
    if (left(&frame) == 0) return false;
    while (left(&frame) > 0)
        if (!read_id(&frame, &ledger, &entry)) return false;
    return true;
}

/* What a dictionary has for a number, perhaps new: a list or another dictionary. Borrowed. */
static PyObject *of_number(PyObject *found, uint64_t number, bool is_list) {
    PyObject *key = PyLong_FromUnsignedLongLong(number);
    PyObject *value = key == NULL ? NULL : PyDict_GetItemWithError(found, key);
    if (value == NULL && key != NULL && !PyErr_Occurred()) {
        value = is_list ? PyList_New(0) : PyDict_New();
        if (value != NULL) {
            if (PyDict_SetItem(found, key, value) < 0) {
                Py_DECREF(value);
                value = NULL;
            } else {
                Py_DECREF(value); /* The dictionary keeps it. */
            }
        }
    }
    Py_XDECREF(key);
    return value;
}

PyObject *inner_cut_acks(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    Py_ssize_t position, total_size_max;
    uint64_t consumer, last_consumer = 0, ledger, last_ledger = 0, entry;
    Reader data, ids;
    if (!argument_count("cut_acks", count, 3) || !argument_size(arguments[1], &position) ||
        !argument_size(arguments[2], &total_size_max) ||
        !argument_bytes(arguments[0], position, &data))
        return NULL;
    PyObject *found = PyDict_New(), *ledgers = NULL, *entries = NULL; /* The last ones: borrowed. */
    const uint8_t *start = data.at, *end = data.at;
    bool ok = found != NULL;
    while (ok && read_ack(&data, (uint64_t)total_size_max, &consumer, &ids)) {
        if (ledgers == NULL || consumer != last_consumer) {
            ok = (ledgers = of_number(found, last_consumer = consumer, false)) != NULL;
            entries = NULL;
        }
        while (ok && read_id(&ids, &ledger, &entry)) {
            if (entries == NULL || ledger != last_ledger)
                ok = (entries = of_number(ledgers, last_ledger = ledger, true)) != NULL;
            ok = ok && append(entries, PyLong_FromUnsignedLongLong(entry));
        }
        end = data.at;
    }
    if (ok) return Py_BuildValue("(nN)", position + (end - start), found);
    Py_XDECREF(found);
    return NULL;
}
