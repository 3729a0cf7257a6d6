//! The demo's shop: its pages, orders and mistakes, and what it says to watch.

use crate::support::{Connection, Served, get};

#[test]
fn the_shop_reads_its_store_and_stores_orders() {
    let mut shop = Served::start("shop", &["--set", "stock=5"]);
    let watch = shop.watch_line();
    assert_eq!(watch.matches("=port:").count(), 2, "{watch}");
    assert_eq!(watch.matches("--watch nginx-log:").count(), 1, "{watch}");

    let page = get(shop.address, "/items/7");
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), Some("application/json"));
    let page = page.text().to_owned();
    assert!(
        page.contains("\"name\":\"item 7\"") && page.contains("\"in_stock\":true"),
        "{page}"
    );
    assert_eq!(
        page.matches("\"name\"").count(),
        9,
        "the item and eight related ones: {page}"
    );
    assert!(
        get(shop.address, "/cart")
            .text()
            .contains("\"total_cents\"")
    );

    let mut connection = Connection::open(shop.address).unwrap();
    let mut order = |body: &str| {
        let head = "POST /orders HTTP/1.1\r\nHost: here\r\nContent-Length:";
        let request = format!("{head} {}\r\n\r\n{body}", body.len());
        connection.send(request.as_bytes()).unwrap();
        let answer = connection.answer().unwrap();
        (answer.status, answer.text().to_owned())
    };
    assert_eq!(
        order("{\"item\":7,\"quantity\":2}"),
        (201, "{\"order\":0}".to_owned())
    );
    assert_eq!(
        order("{\"item\":8,\"quantity\":1}"),
        (201, "{\"order\":1}".to_owned())
    );
    assert_eq!(order("{\"item\":8,\"quantity\":0}").0, 400);
    assert_eq!(order("no json").0, 400);
    assert_eq!(order("{\"item\":100000,\"quantity\":1}").0, 404);
    for path in ["/", "/items/", "/items/x", "/items/100000", "/items/-1"] {
        assert_eq!(get(shop.address, path).status, 404, "{path}");
    }
}

#[test]
fn the_shop_says_so_when_its_stock_service_is_gone() {
    let shop = Served::start("shop-app", &["--upstream", "127.0.0.1:1"]);
    let page = get(shop.address, "/items/7");
    assert_eq!(page.status, 502);
    assert!(
        page.text().starts_with("stock: 127.0.0.1:1: "),
        "{}",
        page.text()
    );
    assert_eq!(get(shop.address, "/cart").status, 200);
}
