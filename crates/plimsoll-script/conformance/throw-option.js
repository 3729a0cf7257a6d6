/* { "does": "with the option throw a failed request throws", "settings": {"throw": true}, "exception": "connection refused" } */
import http from 'k6/http';
export default function () {
  http.get('http://refused.test/');
}
