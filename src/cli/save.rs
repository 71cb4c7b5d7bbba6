//! `--save DIR`: the files of a result on the disk, under safe names and beside whatever is there.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt as _;
use serde_json::Value;

use super::out::{Failure, note};
use super::remote::{Read, Remote};

/// Bytes of a name: file systems hold 255, and a number may come behind it.
const LONGEST_NAME: usize = 120;
/// Files of one name in one folder.
const MOST_OF_A_NAME: usize = 10_000;
/// How a kept artifact is named as a resource.
const KEPT: &str = "jobgate://";

/// Writes every file of `result` into `folder`: kept artifacts, images, sounds and embedded files. Links that lead elsewhere stay links.
pub(super) async fn save(remote: &Remote, result: &Value, folder: &Path) -> Result<(), Failure> {
    let parts = result["content"].as_array().map_or(&[][..], Vec::as_slice);
    let (mut saved, mut lost) = (0, 0);
    for part in parts {
        let resource = &part["resource"];
        let done = match part["type"].as_str() {
            Some("image" | "audio") => {
                let kind = part["type"].as_str().unwrap_or_default();
                bytes(&part["data"]).and_then(|bytes| write(folder, &named(kind, part), &bytes))
            }
            Some("resource") => {
                let uri = resource["uri"].as_str().unwrap_or_default();
                let text = resource["text"].as_str().map(|text| Ok(text.as_bytes().to_vec()));
                text.unwrap_or_else(|| bytes(&resource["blob"])).and_then(|bytes| write(folder, &named(uri, resource), &bytes))
            }
            Some("resource_link") => match part["uri"].as_str() {
                Some(uri) if uri.starts_with(KEPT) => kept(remote, uri, folder, part).await,
                _ => continue,
            },
            _ => continue,
        };
        match done {
            Ok((file, size)) => {
                saved += 1;
                note(format!("saved {} ({size} bytes)", file.display()));
            }
            Err(reason) => {
                lost += 1;
                note(format!("not saved: {}: {reason}", part["name"].as_str().unwrap_or("a file")));
            }
        }
    }
    match (saved, lost) {
        (0, 0) => note("the result has no files to save"),
        (_, 0) => {}
        (_, lost) => {
            let hint = "what was saved is whole; `jobgate tasks get ID --save DIR` tries again as long as the task is kept";
            return Err(Failure::new(format!("{lost} of {} files could not be saved", saved + lost)).hint(hint));
        }
    }
    Ok(())
}

async fn kept(remote: &Remote, uri: &str, folder: &Path, part: &Value) -> Result<(PathBuf, u64), String> {
    let name = named(uri, part);
    let answer = match remote.read(uri).await {
        Ok(Read::Content(content)) => {
            let text = content["text"].as_str().map(|text| Ok(text.as_bytes().to_vec()));
            return text.unwrap_or_else(|| bytes(&content["blob"])).and_then(|bytes| write(folder, &name, &bytes));
        }
        Ok(Read::At(answer)) => answer,
        Err(failure) => return Err(failure.message),
    };
    let (path, mut file) = create(folder, &name)?;
    let whole = async {
        let (mut chunks, mut size) = (answer.bytes_stream(), 0);
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|error| error.without_url().to_string())?;
            size += chunk.len() as u64;
            file.write_all(&chunk).map_err(|error| error.to_string())?;
        }
        Ok(size)
    };
    match whole.await {
        Ok(size) => Ok((path, size)),
        Err(reason) => {
            // Half a file would be taken for one.
            fs::remove_file(&path).ok();
            Err(reason)
        }
    }
}

fn bytes(base64: &Value) -> Result<Vec<u8>, String> {
    STANDARD.decode(base64.as_str().unwrap_or_default()).map_err(|error| format!("its bytes cannot be read: {error}"))
}

/// A file's name: what it is called, as far as that is a name and no path; else what it is.
fn named(otherwise: &str, part: &Value) -> String {
    let said = part["name"].as_str().map(safe).filter(|name| !name.is_empty());
    let mut name =
        said.unwrap_or_else(|| Some(safe(otherwise)).filter(|name| !name.is_empty()).unwrap_or_else(|| "file".to_owned()));
    let known = part["mimeType"].as_str().and_then(ending);
    if let Some(ending) = known.filter(|_| Path::new(&name).extension().is_none()) {
        name.push('.');
        name.push_str(ending);
    }
    name
}

/// The last part of what looks like a path, of letters, digits, `-`, `_`, `.` and blanks; never hidden, never empty of meaning.
fn safe(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or_default();
    let kept = last.chars().filter(|sign| sign.is_alphanumeric() || matches!(sign, '-' | '_' | '.' | ' '));
    let mut name: String = kept.collect::<String>().trim_matches(['.', ' ', '-']).to_owned();
    let (mut end, ending) = (name.len(), Path::new(&name).extension().and_then(|it| it.to_str()).map(str::to_owned));
    if end > LONGEST_NAME {
        end = LONGEST_NAME;
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        name.truncate(end);
        // What programs know a file by.
        if let Some(ending) = ending.filter(|ending| ending.len() <= 10) {
            name.push('.');
            name.push_str(&ending);
        }
    }
    name
}

/// What a name ends in, of the types that jobs make most.
fn ending(mime_type: &str) -> Option<&'static str> {
    Some(match mime_type.split(';').next().unwrap_or_default().trim() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/webp" => "webp",
        "image/gif" => "gif",
        "image/svg+xml" => "svg",
        "audio/mpeg" => "mp3",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/ogg" => "ogg",
        "video/mp4" => "mp4",
        "video/webm" => "webm",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/zip" => "zip",
        "text/plain" => "txt",
        "text/csv" => "csv",
        "text/html" => "html",
        "text/markdown" => "md",
        _ => return None,
    })
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(PathBuf, u64), String> {
    let (path, mut file) = create(folder, name)?;
    file.write_all(bytes).map_err(|error| error.to_string())?;
    Ok((path, bytes.len() as u64))
}

/// A new file: what is there stays, and the new one gets a number.
fn create(folder: &Path, name: &str) -> Result<(PathBuf, fs::File), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let (stem, ending) = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, format!(".{ending}")),
        _ => (name, String::new()),
    };
    for number in 1..MOST_OF_A_NAME {
        let path = folder.join(if number == 1 { name.to_owned() } else { format!("{stem}-{number}{ending}") });
        // Also a link that leads somewhere is there already.
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("{}: {error}", path.display())),
        }
    }
    Err(format!("{} has too many files called {name}", folder.display()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_no_paths() {
        for (name, wanted) in [
            ("../film \"1\".mp4", "film 1.mp4"),
            ("/etc/passwd", "passwd"),
            ("C:\\temp\\a.txt", "a.txt"),
            (".bashrc", "bashrc"),
            ("..", ""),
            ("-rf", "rf"),
            ("a\u{0}\nb\u{1b}[31m.png", "ab31m.png"),
            ("höhe.csv", "höhe.csv"),
        ] {
            assert_eq!(safe(name), wanted, "{name}");
        }
        let long = safe(&format!("{}.mp4", "ä".repeat(500)));
        assert!(long.len() < 140 && long.ends_with(".mp4"), "{long}");
        assert_eq!(named("image", &json!({ "mimeType": "image/png" })), "image.png");
        assert_eq!(
            named("jobgate://tasks/t/artifacts/3", &json!({ "name": "..", "mimeType": "text/csv; header=present" })),
            "3.csv"
        );
        assert_eq!(named("x", &json!({ "name": "clip.mov", "mimeType": "video/mp4" })), "clip.mov");
    }
}
