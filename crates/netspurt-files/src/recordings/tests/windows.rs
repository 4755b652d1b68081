//! Tests of the reader for ping's output on Windows.

use netspurt::delays::ProbeOrder;

use crate::recordings::read;

use super::{counts, one, reading};

/// Makes the text of a run of four probes in one language. Two probes are answered, and two fail.
/// The arguments are the lines of the header, of a reply and of a failure, and the line with the
/// counts.
fn run(header: &str, reply: &str, failure: &str, statistics: &str) -> String {
    format!(
        "\r\n{header}\r\n{reply}\r\n{failure}\r\n{reply}\r\n{failure}\r\n\r\n\
         Statistik 10.0.0.1:\r\n    {statistics}\r\n"
    )
}

#[test]
fn runs_in_eight_languages_give_the_same_counts() {
    let cases = [
        run(
            "Pinging a [10.0.0.1] with 32 bytes of data:",
            "Reply from 10.0.0.1: bytes=32 time=12ms TTL=51",
            "Request timed out.",
            "Packets: Sent = 4, Received = 2, Lost = 2 (50% loss),",
        ),
        run(
            "Ping wird ausgeführt für a [10.0.0.1] mit 32 Bytes Daten:",
            "Antwort von 10.0.0.1: Bytes=32 Zeit=12ms TTL=51",
            "Zeitüberschreitung der Anforderung.",
            "Pakete: Gesendet = 4, Empfangen = 2, Verloren = 2\r\n    (50% Verlust),",
        ),
        run(
            "Envoi d’une requête 'ping' sur a [10.0.0.1] avec 32 octets de données :",
            "Réponse de 10.0.0.1 : octets=32 temps=12 ms TTL=51",
            "Délai d’attente de la demande dépassé.",
            "Paquets : envoyés = 4, reçus = 2, perdus = 2 (perte 50%),",
        ),
        run(
            "Haciendo ping a a [10.0.0.1] con 32 bytes de datos:",
            "Respuesta desde 10.0.0.1: bytes=32 tiempo=12ms TTL=51",
            "Tiempo de espera agotado para esta solicitud.",
            "Paquetes: enviados = 4, recibidos = 2, perdidos = 2",
        ),
        run(
            "Обмен пакетами с a [10.0.0.1] с 32 байтами данных:",
            "Ответ от 10.0.0.1: число байт=32 время=12мс TTL=51",
            "Превышен интервал ожидания для запроса.",
            "Пакетов: отправлено = 4, получено = 2, потеряно = 2",
        ),
        run(
            "a [10.0.0.1]に ping を送信しています 32 バイトのデータ:",
            "10.0.0.1 からの応答: バイト数 =32 時間 =12ms TTL=51",
            "要求がタイムアウトしました。",
            "パケット数: 送信 = 4、受信 = 2、損失 = 2 (50% の損失)、",
        ),
        run(
            "正在 Ping a [10.0.0.1] 具有 32 字节的数据:",
            "来自 10.0.0.1 的回复: 字节=32 时间=12ms TTL=51",
            "请求超时。",
            "数据包: 已发送 = 4，已接收 = 2，丢失 = 2 (50% 丢失)，",
        ),
        // The language of this output (Slovene) is not supported. There are two replies and two
        // unknown lines, and the statistics count four probes. The unknown lines therefore count as
        // lost probes.
        run(
            "Odpingovat a [10.0.0.1] 32 bajtov:",
            "Odgovor 10.0.0.1: bajtov=32 trajanje=12ms TTL=51",
            "Zahteva je potekla.",
            "Paketi: Poslano = 4, Prejeto = 2, Izgubljeno = 2 (50% izguba),",
        ),
    ];
    for text in cases {
        let delays = one(&text);
        assert_eq!(counts(&delays), [4, 2, 2, 0, 0], "{text}");
        assert_eq!(delays.probes[0].rtt.unwrap().as_nanos(), 12_000_000);
        assert_eq!((delays.probes[2].wire_bytes, delays.order), (60, ProbeOrder::Sequence));
    }
}

#[test]
fn utf_16_and_code_pages_are_read() {
    let text =
        "Antwort von 10.0.0.1: Bytes=32 Zeit<1ms TTL=51\r\nZeitüberschreitung der Anforderung.";
    let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked = [&[0xff, 0xfe][..], &units].concat();
    // ü is 0x81 in code page 850.
    let page: Vec<u8> = text
        .chars()
        .map(|c| u8::try_from(c).map_or(b'?', |c| if c < 128 { c } else { 0x81 }))
        .collect();
    for bytes in [marked, page] {
        let reading = read("x", &bytes).unwrap();
        assert_eq!(counts(&reading.recordings[0]), [2, 1, 1, 0, 0]);
        assert_eq!(reading.recordings[0].probes[0].rtt.unwrap().as_nanos(), 500_000);
    }
}

#[test]
fn an_error_line_is_a_loss_although_windows_counts_it_as_received() {
    let text = "Pinging 10.0.0.1 with 32 bytes of data:\r\n\
                Reply from 10.0.0.9: Destination host unreachable.\r\n\
                Reply from 10.0.0.1: bytes=32 time=3ms TTL=64\r\n\
                PING: transmit failed. General failure. \r\n\r\n\
                Ping statistics for 10.0.0.1:\r\n\
                \x20   Packets: Sent = 3, Received = 2, Lost = 1 (33% loss),\r\n\
                Approximate round trip times in milli-seconds:\r\n\
                \x20   Minimum = 3ms, Maximum = 3ms, Average = 3ms\r\nControl-C\r\n^C\r\n";
    let reading = reading(text);
    assert_eq!(reading.malformed, []);
    assert_eq!(counts(&reading.recordings[0])[..3], [3, 1, 2]);
    assert!(reading.recordings[0].notes[0].contains("errors included"));
}

#[test]
fn a_foreign_line_is_reported_and_is_not_a_probe() {
    let text = "Pinging 10.0.0.1 with 32 bytes of data:\r\n\
                Reply from 10.0.0.1: bytes=32 time=3ms TTL=64\r\nthe cable was moved\r\n\
                Reply from 10.0.0.1: bytes=32 time=3ms TTL=64\r\n\r\n";
    let reading = reading(text);
    assert_eq!(counts(&reading.recordings[0])[..3], [2, 2, 0]);
    assert_eq!(reading.malformed[0].line, 3);
}

#[test]
fn the_header_of_a_run_gives_the_size_of_ipv6_replies() {
    let text = "Pinging ::1 with 32 bytes of data:\r\nReply from ::1: time<1ms \r\n";
    assert_eq!(one(text).probes[0].wire_bytes, 80);
}

#[test]
fn a_reply_that_is_cut_off_is_not_a_probe() {
    for cut in ["bytes=32 time=1", "bytes=32 ti", "bytes=32 time=12ms", "by"] {
        let text = format!(
            "Pinging 10.0.0.1 with 32 bytes of data:\r\n\
             Reply from 10.0.0.1: bytes=32 time=3ms TTL=64\r\nReply from 10.0.0.1: {cut}"
        );
        let reading = reading(&text);
        assert_eq!(counts(&reading.recordings[0])[..3], [1, 1, 0], "{cut}");
        assert_eq!(reading.malformed.len(), 1, "{cut}");
    }
}

#[test]
fn replies_after_the_statistics_are_another_run_and_foreign_lines_are_reported() {
    let reply = "Reply from 10.0.0.1: bytes=32 time=3ms TTL=64\r\n";
    let text = format!(
        "Pinging 10.0.0.1 with 32 bytes of data:\r\n{reply}(a remark)\r\nmoved 3 chairs:\r\n{reply}\
         \x20   Packets: Sent = 2, Received = 2, Lost = 0 (0% loss),\r\n\
         Approximate round trip times in milli-seconds:\r\n\
         \x20   Minimum = 3ms, Maximum = 3ms, Average = 3ms\r\nthe cable was moved\r\n{reply}"
    );
    let reading = reading(&text);
    let all: Vec<_> = reading.recordings.iter().map(|one| (one.sent(), one.received())).collect();
    assert_eq!(all, [(2, 2), (1, 1)]);
    let lines: Vec<usize> = reading.malformed.iter().map(|one| one.line).collect();
    assert_eq!(lines, [3, 4, 9]);
}

#[test]
fn statistics_over_several_lines_and_in_code_pages_are_read() {
    let italian = "Risposta da 10.0.0.1: byte=32 durata=20ms TTL=64\r\nRichiesta scaduta.\r\n\r\n\
                   Statistiche Ping per 10.0.0.1:\r\n    Pacchetti: Trasmessi = 2, Ricevuti = 1,\r\n\
                   \x20   Persi = 1 (50% persi),\r\nTempo approssimativo in millisecondi:\r\n\
                   \x20   Minimo = 20ms, Massimo =  20ms, Medio =  20ms\r\n";
    let portuguese = "Resposta de 10.0.0.1: bytes=32 tempo=20ms TTL=64\r\n\
                      Esgotado o tempo limite do pedido.\r\n\
                      \x20   Pacotes: Enviados = 2, Recebidos = 1, Perdidos = 1 (50% de\r\n\
                      \x20            perda),\r\n";
    for text in [italian, portuguese] {
        let reading = reading(text);
        assert_eq!(reading.malformed, []);
        assert_eq!(counts(&reading.recordings[0])[..3], [2, 1, 1]);
    }
    // The text `chinese` is in code page 936. Its lines are a reply, "request timed out", and
    // "sent = 2, received = 1, lost = 1" with the commas of the code page.
    let chinese: Vec<u8> = [
        &b"\xc0\xb4\xd7\xd4 10.0.0.1 \xb5\xc4\xbb\xd8\xb8\xb4: \xd7\xd6\xbd\xda=32 \xca\xb1\xbc\xe4=20ms TTL=64\r\n"[..],
        b"\xc7\xeb\xc7\xf3\xb3\xac\xca\xb1\xa1\xa3\r\n",
        b"    \xca\xfd\xbe\xdd\xb0\xfc: \xd2\xd1\xb7\xa2\xcb\xcd = 2\xa3\xac\xd2\xd1 = 1\xa3\xac\xb6\xaa = 1 (50%)\xa3\xac\r\n",
        b"\xcd\xf9\xb7\xb5:\r\n",
    ]
    .concat();
    let reading = crate::recordings::read("x", &chinese).unwrap();
    assert_eq!(reading.malformed, []);
    assert_eq!(counts(&reading.recordings[0])[..3], [2, 1, 1]);
}

#[test]
fn a_title_without_statistics_after_it_is_reported() {
    let reply = "Reply from 10.0.0.1: bytes=32 time=3ms TTL=64\r\n";
    let reading = reading(&format!("{reply}to be remembered:\r\n{reply}and this:\r\n"));
    let lines: Vec<usize> = reading.malformed.iter().map(|one| one.line).collect();
    assert_eq!((counts(&reading.recordings[0])[..3].to_vec(), lines), (vec![2, 2, 0], vec![2, 4]));
}

#[test]
fn a_log_that_begins_with_the_last_probe_is_reversed() {
    let line = |clock: &str, ms: u64| {
        format!("{clock} Reply from 10.0.0.1: bytes=32 time={ms}ms TTL=64\n")
    };
    for clocks in [
        ["11:06:43", "11:06:42", "11:06:40"],
        ["00:00:01", "00:00:00", "23:59:58"],
        ["2024-10-22 11:06:43", "2024-10-22 11:06:42", "2024-10-22 11:06:40"],
    ] {
        let failure = "Request timed out.\n".to_owned();
        let lines =
            [line(clocks[0], 30), line(clocks[1], 20), failure, line(clocks[2], 10)].concat();
        let delays = one(&lines);
        let probes: Vec<_> = delays
            .probes
            .iter()
            .map(|probe| {
                (probe.sent.as_nanos() / 1_000_000, probe.rtt.map(|rtt| rtt.as_nanos() / 1_000_000))
            })
            .collect();
        let expected = [(0, Some(10)), (995, None), (1990, Some(20)), (2980, Some(30))];
        assert_eq!(probes, expected, "{}", clocks[0]);
        assert!(delays.notes.iter().any(|note| note.contains("it was reversed")));
    }
}
