package devstack

import "syscall"

// processAttributes puts a process into a group of its own, so that a Ctrl-C at the terminal does
// not reach it and its children can be ended with it, and has the kernel kill it when this program
// dies, however that happens.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup ends the processes of a group. An empty group is not an error.
func killGroup(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }
