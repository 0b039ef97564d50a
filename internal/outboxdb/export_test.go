package outboxdb

// ItemSize lets tests fill items to the byte.
var ItemSize = itemSize
