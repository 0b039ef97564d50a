package routingdb

// Decode and Encode let tests read and write any item.
var (
	Decode = decode
	Encode = encode
)
