/* { "does": "request tags, and a name that replaces the URL in the tags", "tags": {"http_reqs": [{"kind": "x", "name": "items", "url": "items", "method": "GET", "status": "200", "proto": "HTTP/1.1", "expected_response": "true"}, {"kind": null, "name": "http://h.test/items/2"}]} } */
import http from 'k6/http';
export default function () {
  http.get('http://h.test/items/1', { tags: { kind: 'x', name: 'items' } });
  http.get('http://h.test/items/2');
}
