//! The Unix socket in the data folder: for the folder's owner alone, whatever the folder's own permissions.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

use crate::domain::Random;

/// Its name in the data folder.
const NAME: &str = "jobgate.sock";
/// What every system takes as the path of a socket (Linux 108 bytes with the end mark, macOS 104).
const LONGEST_PATH: usize = 100;

/// Where the socket of a data folder is.
pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join(NAME)
}

/// Listens in `folder`. Only the holder of the store does, so what lies there is a leftover of one that is gone.
pub(super) fn bind(folder: &Path, random: &dyn Random) -> io::Result<UnixListener> {
    let path = path(folder);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let listener = with_short_path(folder, random, |short| UnixListener::bind(short))?;
    // Whoever connects before this line is asked for its user all the same.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Connects to the holder of `folder`, if it is a process of the same user.
pub(super) async fn connect(folder: &Path, random: &dyn Random) -> io::Result<UnixStream> {
    let short = ShortPath::of(folder, random)?;
    let stream = UnixStream::connect(short.socket()).await?;
    drop(short);
    same_user(&stream)?;
    Ok(stream)
}

/// Refuses a peer that runs as another user.
pub(super) fn same_user(stream: &UnixStream) -> io::Result<()> {
    let peer = stream.peer_cred()?.uid();
    if peer == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("the other side runs as user {peer}")))
}

fn with_short_path<T>(folder: &Path, random: &dyn Random, work: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let short = ShortPath::of(folder, random)?;
    work(&short.socket())
}

/// The data folder under a name short enough for a socket: itself, or a link to it that lives as long as this value.
struct ShortPath {
    folder: PathBuf,
    link: bool,
}

impl ShortPath {
    fn of(folder: &Path, random: &dyn Random) -> io::Result<Self> {
        if path(folder).as_os_str().len() <= LONGEST_PATH {
            return Ok(Self { folder: folder.to_owned(), link: false });
        }
        let target = std::path::absolute(folder)?;
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        let link = std::env::temp_dir().join(format!("jobgate-{:016x}", u64::from_be_bytes(bytes)));
        if path(&link).as_os_str().len() > LONGEST_PATH {
            let reason = format!("the path {} is too long for a socket; use a data folder with a shorter one", folder.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        // Nobody else can put another link in its place: the name is new, and a folder for everybody lets only owners rename.
        std::os::unix::fs::symlink(target, &link)?;
        Ok(Self { folder: link, link: true })
    }

    fn socket(&self) -> PathBuf {
        path(&self.folder)
    }
}

impl Drop for ShortPath {
    fn drop(&mut self) {
        if self.link {
            // The link has done its work; one that stays behind is no harm.
            std::fs::remove_file(&self.folder).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use jobgate_adapter_api::OsRandom;

    use super::*;

    /// A deep data folder works like any other, and leaves nothing behind elsewhere.
    #[tokio::test]
    async fn a_long_path_is_no_obstacle() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("deep".repeat(30));
        std::fs::create_dir(&folder).unwrap();
        let listener = bind(&folder, &OsRandom).unwrap();
        let (connected, accepted) = tokio::join!(connect(&folder, &OsRandom), listener.accept());
        same_user(&accepted.unwrap().0).unwrap();
        connected.unwrap();
        let mode = std::fs::metadata(path(&folder)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    /// A socket of a process that was killed is in nobody's way.
    #[tokio::test]
    async fn a_leftover_socket_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        drop(bind(root.path(), &OsRandom).unwrap());
        assert!(connect(root.path(), &OsRandom).await.is_err());
        let _listener = bind(root.path(), &OsRandom).unwrap();
        connect(root.path(), &OsRandom).await.unwrap();
    }
}
