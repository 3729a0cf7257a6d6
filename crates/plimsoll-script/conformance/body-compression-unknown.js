/* { "does": "an unknown coding is refused", "exception": "compression \"lzma\" is unknown", "requests": [] } */
import http from 'k6/http';
export default function () {
  http.post('http://h.test/post', 'x', { compression: 'lzma' });
}
