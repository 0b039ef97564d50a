package main

import "slices"

// allMutants are the mutants of both simulations.
func allMutants() []mutant {
	return slices.Concat(table, tableDB, constants, clocks, routingTable, routingTableDB)
}
