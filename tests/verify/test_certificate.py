from array import array

import pytest

from moet.errors import CertificateError
from moet.verify import Certificate


@pytest.fixture
def certificate():
    certificate = Certificate("test", {"steps": 3})
    certificate.add(bytes([9, 0]), array("i", [7]), array("d", [0.5]))
    certificate.add(bytes([16]), array("i", [1, 2]), array("d", [1.0, 2.0**-1074]))
    return certificate


def test_records_come_back_in_order_from_memory_and_from_a_file(certificate, tmp_path):
    certificate.save(tmp_path / "c.cert")
    loaded = Certificate.load(tmp_path / "c.cert")
    assert (loaded.kind, loaded.claim) == ("test", {"steps": 3})
    for source in (certificate, certificate, loaded):
        records = source.records()
        assert (records.code(), records.multipliers(1), records.code()) == (9, [(7, 0.5)], 0)
        assert (records.code(), records.multipliers(2)) == (16, [(1, 1.0), (2, 2.0**-1074)])
        records.finish()


def test_every_flipped_byte_of_a_file_is_noticed(certificate, tmp_path):
    path = tmp_path / "c.cert"
    certificate.save(path)
    content = path.read_bytes()
    for position in range(len(content)):
        path.write_bytes(content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :])
        with pytest.raises(CertificateError):
            Certificate.load(path)


@pytest.mark.parametrize("length", [0, 5, 30, -33, -1])
def test_a_file_that_is_cut_short_is_refused(certificate, tmp_path, length):
    path = tmp_path / "c.cert"
    certificate.save(path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(CertificateError):
        Certificate.load(path)


def test_missing_files_and_folders(certificate, tmp_path):
    with pytest.raises(CertificateError, match="cannot read"):
        Certificate.load(tmp_path / "none.cert")
    with pytest.raises(CertificateError, match="cannot write"):
        certificate.save(tmp_path / "none" / "c.cert")


@pytest.mark.parametrize("number", [-1.0, float("nan"), float("inf")])
def test_multipliers_must_be_finite_and_not_negative(number):
    certificate = Certificate("test", {})
    certificate.add(bytes([8]), array("i", [0]), array("d", [number]))
    records = certificate.records()
    records.code()
    with pytest.raises(CertificateError):
        records.multipliers(1)


def test_reading_too_much_or_too_little_is_an_error(certificate):
    records = certificate.records()
    records.code()
    with pytest.raises(CertificateError, match="missing"):
        records.multipliers(4)
    records = certificate.records()
    with pytest.raises(CertificateError, match="goes on"):
        records.finish()
    with pytest.raises(CertificateError, match="ends before"):
        Certificate("test", {}).records().code()
    records = certificate.records()
    for _ in range(3):
        records.code()
    with pytest.raises(CertificateError, match="more references"):
        records.code()


def test_records_are_packed_as_they_come(monkeypatch):
    monkeypatch.setattr("moet.verify.checker.certificate._WAITING", 100)
    certificate = Certificate("test", {})
    for i in range(50):
        certificate.add(bytes([8]), array("i", [i]), array("d", [float(i)]))
    assert len(list(certificate._read_blocks())) > 5
    records = certificate.records()
    assert [(records.code(), records.multipliers(1)) for _ in range(50)] == [(8, [(i, float(i))]) for i in range(50)]
    records.finish()
