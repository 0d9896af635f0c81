/* Writes the fields of a protobuf message: plain/fields.py says how. */
#include "inner.h"

/* What goes over the values twice: without a Writer to add up sizes, with one to write. */
typedef struct {
    Writer *out;
    size_t size;
} Pass;

static bool number(Pass *pass, uint64_t tag, uint64_t value) {
    if (pass->out == NULL) return add_size(&pass->size, varint_size(tag) + varint_size(value));
    write_varint(pass->out, tag);
    write_varint(pass->out, value);
    return true;
}

static bool content(Pass *pass, uint64_t tag, PyObject *value) {
    Reader bytes;
    if (!argument_bytes(value, 0, &bytes) || !number(pass, tag, left(&bytes))) return false;
    if (pass->out == NULL) return add_size(&pass->size, left(&bytes));
    write_bytes(pass->out, bytes.at, left(&bytes));
    return true;
}

static bool field(Pass *pass, uint64_t tag, PyObject *value) {
    uint64_t found;
    if (value == Py_None) return true;
    if (PyBytes_Check(value)) return content(pass, tag, value);
    if (!PyList_Check(value)) return as_u64(value, &found) && number(pass, tag, found);
    for (Py_ssize_t i = 0; i < PyList_Size(value); i++)
        if (!content(pass, tag, PyList_GetItem(value, i))) return false;
    return true;
}

static bool fields(Pass *pass, PyObject *tags, PyObject *values, Py_ssize_t count) {
    uint64_t tag;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *value = PyList_GetItem(values, i);
        if (value == NULL || !item_u64(tags, i, &tag) || !field(pass, tag, value)) return false;
    }
    return true;
}

PyObject *inner_write_fields(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    Py_ssize_t count, values;
    Pass pass = {NULL, 0};
    Writer out;
    if (!argument_count("write_fields", given, 2) || !argument_list(arguments[0], &count) ||
        !argument_list(arguments[1], &values))
        return NULL;
    if (count != values) {
        PyErr_SetString(PyExc_ValueError, "not as many values as tags");
        return NULL;
    }
    if (!fields(&pass, arguments[0], arguments[1], count) || !writer_open(&out, pass.size)) return NULL;
    pass.out = &out;
    if (fields(&pass, arguments[0], arguments[1], count)) return writer_close(&out);
    writer_drop(&out);
    return NULL;
}
