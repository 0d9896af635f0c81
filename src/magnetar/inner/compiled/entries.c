/* Cuts entries that were read from the log: plain/entries.py says how. */
#include "inner.h"

/* The next entry, if it is all here and what was written; an error is told by Python. */
static bool next_entry(Reader *data, PyObject *lengths, PyObject *checksums, Py_ssize_t index,
                       Reader *entry) {
    uint64_t length, checksum;
    return item_u64(lengths, index, &length) && item_u64(checksums, index, &checksum) &&
           read_part(data, length, entry) && checksum_of(entry->at, length) == checksum;
}

PyObject *inner_cut_entries(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    PyObject *lengths, *checksums;
    Py_ssize_t position, expected, sums, good = 0;
    Reader data, entry;
    if (!argument_count("cut_entries", count, 4) || !argument_size(arguments[1], &position) ||
        !argument_bytes(arguments[0], position, &data) ||
        !argument_list(lengths = arguments[2], &expected) ||
        !argument_list(checksums = arguments[3], &sums))
        return NULL;
    if (expected != sums) {
        PyErr_SetString(PyExc_ValueError, "lists of different lengths");
        return NULL;
    }
    Reader rest = data;
    while (good < expected && next_entry(&rest, lengths, checksums, good, &entry)) good++;
    PyObject *entries = PyErr_Occurred() ? NULL : PyList_New(good);
    if (entries == NULL) return NULL;
    for (Py_ssize_t i = 0; i < good; i++) {
        uint64_t length;
        if (!item_u64(lengths, i, &length) || !read_part(&data, length, &entry) ||
            !put(entries, i, bytes_of(&entry))) {
            Py_DECREF(entries);
            return NULL;
        }
    }
    return entries;
}
