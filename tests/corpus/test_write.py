"""CorpusWriter: what it writes is what formats.md says, and nothing half-written passes for a corpus."""

import hashlib

import numpy as np
import pytest

from fivepoint.corpus.write import CorpusWriter, smallest_dtype
from fivepoint.errors import ConfigError, CorpusError, InputError
from fivepoint.reference.manifest import Manifest, Tokenizer

TOKENIZER = Tokenizer("none", "0" * 64)


def write(folder, documents, vocab_size=1000, **options):
    with CorpusWriter(folder, folder.name, vocab_size, TOKENIZER, **options) as writer:
        for tokens in documents:
            writer.add(tokens)
        return writer.finish()


def read(folder, manifest):
    """Return every document of a corpus, by numpy alone."""
    documents = []
    for shard in manifest.shards:
        tokens = np.fromfile(folder / shard.file, dtype=manifest.token_dtype)
        starts = np.load(folder / shard.index_file, allow_pickle=False)
        assert starts.dtype == np.dtype("<i8") and starts[0] == 0
        documents += [part.tolist() for part in np.split(tokens, starts[1:])]
    return documents


def test_the_files_hold_the_documents_in_order(tmp_path):
    documents = [[1, 2, 3], [], [4], [5] * 9, [], [999]]
    manifest = write(tmp_path / "web", documents, shard_bytes=12)
    assert read(tmp_path / "web", manifest) == documents
    assert Manifest.load(tmp_path / "web") == manifest


def test_shards_end_where_documents_end(tmp_path):
    manifest = write(tmp_path / "web", [[1, 2], [3, 4], [5, 6], [7] * 20, [8]], shard_bytes=8)
    assert [shard.tokens for shard in manifest.shards] == [4, 2, 20, 1]
    assert [shard.bytes for shard in manifest.shards] == [8, 4, 40, 2]


def test_the_hashes_are_those_of_the_files(tmp_path):
    folder = tmp_path / "web"
    for shard in write(folder, [[1, 2], [3, 4]], shard_bytes=4).shards:
        assert hashlib.sha256((folder / shard.file).read_bytes()).hexdigest() == shard.sha256
        assert hashlib.sha256((folder / shard.index_file).read_bytes()).hexdigest() == shard.index_sha256


@pytest.mark.parametrize(("vocab_size", "dtype"), [(1, "uint16"), (65_536, "uint16"), (65_537, "uint32")])
def test_the_dtype_holds_the_whole_vocabulary(tmp_path, vocab_size, dtype):
    assert smallest_dtype(vocab_size) == dtype
    last = vocab_size - 1
    manifest = write(tmp_path / "web", [[last]], vocab_size)
    assert (manifest.dtype, read(tmp_path / "web", manifest)) == (dtype, [[last]])


def test_a_dtype_too_small_for_the_vocabulary_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="65537 ids"):
        write(tmp_path / "web", [[1]], 65_537, dtype="uint16")


@pytest.mark.parametrize("token", [-1, 1000, 65_536 + 5])
def test_a_token_outside_the_vocabulary_is_refused_and_leaves_nothing(tmp_path, token):
    with pytest.raises(InputError, match=f"from 0 to 999, found {token}"):
        write(tmp_path / "web", [[1], [2, token]], shard_bytes=2)
    assert not (tmp_path / "web").exists()


def test_tokens_that_are_not_integers_are_refused(tmp_path):
    with pytest.raises(InputError, match="integer tokens"):
        write(tmp_path / "web", [[0.5]])


def test_a_corpus_without_a_token_is_refused(tmp_path):
    with pytest.raises(InputError, match="at least one token"):
        write(tmp_path / "web", [[], []])
    assert not (tmp_path / "web").exists()


def test_a_document_may_come_in_parts(tmp_path):
    with CorpusWriter(tmp_path / "web", "web", 10, TOKENIZER, shard_bytes=4) as writer:
        writer.add([9])
        writer.add_parts(iter([np.array([1, 2]), np.array([3])]), 3)
        manifest = writer.finish()
    assert read(tmp_path / "web", manifest) == [[9], [1, 2, 3]]
    assert len(manifest.shards) == 2


def test_a_finished_corpus_is_not_written_over(tmp_path):
    write(tmp_path / "web", [[1]])
    with pytest.raises(CorpusError, match="finished corpus"):
        write(tmp_path / "web", [[2]])
    assert read(tmp_path / "web", Manifest.load(tmp_path / "web")) == [[1]]


def test_what_an_interrupted_writer_left_is_cleared(tmp_path):
    folder = tmp_path / "web"
    folder.mkdir()
    for name in ("web-00000.bin", "web-00007.idx.npy", ".web-00008.bin.k2_x9abc.tmp", ".manifest.json.k2_x9abc.tmp"):
        (folder / name).write_bytes(b"left over")
    manifest = write(folder, [[1]])
    assert sorted(path.name for path in folder.iterdir()) == ["manifest.json", "web-00000.bin", "web-00000.idx.npy"]
    assert read(folder, manifest) == [[1]]


@pytest.mark.parametrize("stranger", ["notes.txt", "other-00000.bin", ".other-00000.bin.tmp"])
def test_a_folder_with_a_file_of_somebody_else_is_left_alone(tmp_path, stranger):
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / stranger).write_text("keep me")
    with pytest.raises(CorpusError, match=f"found {stranger}"):
        write(folder, [[1]])
    assert (folder / stranger).read_text() == "keep me"


@pytest.mark.parametrize("name", ["", "..", ".web", "a/b", "a\\b", "a\nb", "a" * 201])
def test_a_name_that_cannot_name_a_corpus_is_refused(tmp_path, name):
    with pytest.raises(ConfigError, match="corpus name"):
        CorpusWriter(tmp_path / "web", name, 10, TOKENIZER)


@pytest.mark.clause("D0.9")
def test_an_empty_document_never_begins_a_shard(tmp_path):
    with CorpusWriter(tmp_path / "web", "web", 100, TOKENIZER, shard_bytes=8) as writer:
        for length in (0, 10, 0, 0, 3, 0):
            writer.add(range(length))
        manifest = writer.finish()
    assert [(shard.tokens, shard.documents) for shard in manifest.shards] == [(10, 4), (3, 2)]
    assert not list((tmp_path / "web").glob(".*")), "nothing unfinished is left"
