package boot

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// ours refuses a folder that another user may have prepared: its owner must be this user, or the administrators if
// this user is one of them.
func ours(dir string) error {
	sd, err := windows.GetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return err
	}
	owner, _, err := sd.Owner()
	if err != nil {
		return err
	}
	token := windows.GetCurrentProcessToken()
	user, err := token.GetTokenUser()
	if err != nil {
		return err
	}
	if owner.Equals(user.User.Sid) {
		return nil
	}
	if member, err := windows.Token(0).IsMember(owner); err == nil && member && owner.IsWellKnown(windows.WinBuiltinAdministratorsSid) {
		return nil
	}
	return fmt.Errorf("%s is not a folder of this user", dir)
}
