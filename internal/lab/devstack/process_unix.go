//go:build unix && !linux

package devstack

import "syscall"

// processAttributes puts a process into a group of its own, so that a Ctrl-C at the terminal does
// not reach it and its children can be ended with it. If this program dies without ending it, an
// idle process ends by itself, its runtime API being gone; a busy one does when it answers.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// killGroup ends the processes of a group. An empty group is not an error.
func killGroup(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }
