/* Cuts runs of plain receipts out of received bytes: plain/receipt_runs.py says what they are. */
#include "inner.h"

typedef struct {
    uint64_t producer, sequence, highest;
} Receipt;

static bool read_number(Reader *reader, uint8_t tag, uint64_t *value) {
    return read_tag(reader, tag) && read_varint(reader, value);
}

static bool read_receipt(Reader *data, uint64_t total_size_max, Receipt *receipt) {
    uint32_t total_size, command_size;
    uint64_t number;
    uint8_t size;
    Reader frame, id;
    return read_u32(data, &total_size) && total_size <= total_size_max &&
           read_part(data, total_size, &frame) && read_u32(&frame, &command_size) &&
           command_size == left(&frame) && read_literal(&frame, "\x08\x07\x3a", 3) &&
           read_byte(&frame, &size) && size < 0x80 && size == left(&frame) &&
           read_number(&frame, 0x08, &receipt->producer) &&
           read_number(&frame, 0x10, &receipt->sequence) && read_tag(&frame, 0x1a) &&
           read_byte(&frame, &size) && size < 0x80 && read_part(&frame, size, &id) &&
           read_number(&id, 0x08, &number) && read_number(&id, 0x10, &number) && left(&id) == 0 &&
           read_number(&frame, 0x20, &receipt->highest) && left(&frame) == 0;
}

PyObject *inner_cut_receipts(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    Py_ssize_t position, total_size_max;
    Receipt receipt, last = {0, 0, 0};
    Reader data;
    if (!argument_count("cut_receipts", count, 3) || !argument_size(arguments[1], &position) ||
        !argument_size(arguments[2], &total_size_max) ||
        !argument_bytes(arguments[0], position, &data))
        return NULL;
    PyObject *found = PyList_New(0), *sequences = NULL, *highest = NULL; /* The last: borrowed. */
    const uint8_t *start = data.at, *end = data.at;
    bool ok = found != NULL;
    while (ok && read_receipt(&data, (uint64_t)total_size_max, &receipt)) {
        if (sequences == NULL || receipt.producer != last.producer) {
            sequences = PyList_New(0);
            highest = PyList_New(0);
            if (sequences == NULL || highest == NULL) {
                Py_XDECREF(sequences);
                Py_XDECREF(highest);
                ok = false;
                break;
            }
            ok = append(found, Py_BuildValue("(KNN)", (unsigned long long)receipt.producer,
                                             sequences, highest));
        }
        ok = ok && append(sequences, PyLong_FromUnsignedLongLong(receipt.sequence)) &&
             append(highest, PyLong_FromUnsignedLongLong(receipt.highest));
        last = receipt;
        end = data.at;
    }
    if (ok) return Py_BuildValue("(nN)", position + (end - start), found);
    Py_XDECREF(found);
    return NULL;
}
