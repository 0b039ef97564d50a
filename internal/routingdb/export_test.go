package routingdb

// Decode lets tests read any item.
var Decode = decode
