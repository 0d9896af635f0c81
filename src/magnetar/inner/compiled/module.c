/* magnetar.inner._compiled: the inner loops, compiled. What each does is told by its twin in plain/. */
#include "inner.h"

PyObject *inner_checksum(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    Reader data;
    if (!argument_count("checksum", count, 1) || !argument_bytes(arguments[0], 0, &data))
        return NULL;
    return PyLong_FromUnsignedLong(checksum_of(data.at, left(&data)));
}

#define LOOP(name) {#name, (PyCFunction)(void (*)(void))inner_##name, METH_FASTCALL, NULL}

static PyMethodDef functions[] = {
    LOOP(checksum),
    LOOP(cut_sends),
    LOOP(send_receipts),
    LOOP(cut_acks),
    LOOP(cut_receipts),
    LOOP(add_frames),
    LOOP(cut_added),
    LOOP(open_stored),
    LOOP(message_frames),
    LOOP(look_into),
    LOOP(pack),
    LOOP(unpack),
    LOOP(unpack_as),
    LOOP(columns),
    LOOP(write_fields),
    LOOP(encode_block),
    LOOP(cut_entries),
    LOOP(cut_records),
    LOOP(cut_rows),
    LOOP(pack_rows),
    LOOP(share_rows),
    LOOP(send_frames),
    LOOP(replicas),
    LOOP(source_places),
    {NULL, NULL, 0, NULL},
};

static int prepare(PyObject *module) {
    checksum_prepare();
    return PyModule_AddStringConstant(module, "SOURCES", SOURCES); /* What setup.py saw. */
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)prepare}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_compiled", .m_methods = functions, .m_slots = slots};

PyMODINIT_FUNC PyInit__compiled(void) { return PyModuleDef_Init(&definition); }
