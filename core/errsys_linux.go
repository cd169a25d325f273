package core

// linuxNumbers: the system's error numbers are libfabric's.
const linuxNumbers = true
