/* { "does": "a timeout that is no duration is refused", "exception": "is not a duration" } */
import http from 'k6/http';
export default function () {
  http.get('http://h.test/', { timeout: 'soon' });
}
