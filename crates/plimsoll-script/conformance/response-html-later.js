/* { "does": "html() says that it is not there yet", "exception": "not supported yet" } */
import http from 'k6/http';
export default function () {
  http.get('http://h.test/html').html();
}
