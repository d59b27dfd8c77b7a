# Traces rays through an air-spaced triplet, crown - flint - crown, for an object at infinity, and prints
#   {"value": the spot's RMS radius in micrometres, "constraints": {...}}: those above 0 are violated.
# Plain POSIX awk. Give the lens with -v, before -f; lengths are in mm, curvatures (1/radius) in 1/mm:
#   c1 ... c6              curvatures of the six surfaces, positive where the centre lies behind; 0 is flat.
#                          Without c6, the last surface is the one that makes the focal length 100 mm
#   crown1, flint, crown2  the glasses, by their number in the lists below; without one, there is air
#   t1, t2, t3             thicknesses of the three lenses on the axis
#   air1, air2             the gaps between them
#   front                  true: the stop touches the first lens; false: it is before the second one
#   fields, pupil          optional: field angles in degrees ("0 7 10"), the entrance pupil's diameter (20)
#   show                   optional: 1 prints a description, 2 also the rays of a fan, before the result
# A ray that misses a surface or is totally reflected ends the program with status 1.

function fail(why) {
    print "lens: " why | "cat 1>&2"
    close("cat 1>&2")
    exit 1
}

# Takes a glass from a list for the lens that begins at a surface.
function glass(list, number, surface,   names, parts, known, w) {
    known = split(list, names, ";")
    if (number != "" && (number < 1 || number > known)) fail("there is no glass number " number)
    if (number == "" || split(names[int(number)], parts, " ") < 4) split("air 1 1 1", parts, " ")
    name[surface] = parts[1]; name[surface + 1] = "air"
    for (w = 1; w <= 3; w++) {
        index_after[surface, w] = parts[w + 1] + 0
        index_after[surface + 1, w] = 1
    }
}

# A paraxial ray of wavelength w from surface 1 up to surface `last`: leaves its height there and its slope
# after that in py and pu.
function paraxial(w, height, slope, last,   i, n, m) {
    py = height; pu = slope; n = 1
    for (i = 1; i <= last; i++) {
        if (i > 1) py += gap[i - 1] * pu
        m = index_after[i, w]
        pu = (n * pu - py * curvature[i] * (m - n)) / m
        n = m
    }
}

# An exact, skew ray through all surfaces: it starts at (x, y, z) seen from the first vertex, with direction
# cosines (kx, ky, kz), and leaves both as seen from the last vertex in the same variables.
function trace(w,   i, n, m, c, s, e, f, g, root, cosine, ratio, bend, radius) {
    n = 1
    for (i = 1; i <= surfaces; i++) {
        c = curvature[i]
        if (i > 1) z -= gap[i - 1]
        # to the vertex plane, then to the sphere
        s = -z / kz; x += s * kx; y += s * ky
        f = c * (x * x + y * y); g = kz - c * (x * kx + y * ky)
        e = g * g - c * f                               # the cosine of incidence, squared
        if (e < 0) fail("a ray misses surface " i)
        cosine = sqrt(e)
        s = f / (g + cosine)
        x += s * kx; y += s * ky; z = s * kz
        radius = x * x + y * y
        if (radius > reach[i]) reach[i] = radius
        # Snell's law, as vectors: the normal is (-c x, -c y, 1 - c z)
        m = index_after[i, w]; ratio = n / m
        root = 1 - ratio * ratio * (1 - e)
        if (root < 0) fail("a ray is totally reflected at surface " i)
        bend = sqrt(root) - ratio * cosine
        kx = ratio * kx - bend * c * x
        ky = ratio * ky - bend * c * y
        kz = ratio * kz + bend * (1 - c * z)
        if (kz <= 0) fail("a ray turns back at surface " i)
        n = m
    }
}

# A ray of field angle `angle` (radians) through the point (px, py) of the entrance pupil.
function launch(w, angle, px, py) {
    x = px; y = py; z = pupil_at
    kx = 0; ky = sin(angle); kz = cos(angle)
    trace(w)
}

function sag(c, radius,   inside) {
    inside = 1 - c * c * radius * radius
    return c * radius * radius / (1 + (inside > 0 ? sqrt(inside) : 0))
}

# The distance of surfaces i and i + 1 at the rim, 1 mm outside all rays of both.
function rim(i,   radius) {
    radius = 1 + sqrt(reach[i] > reach[i + 1] ? reach[i] : reach[i + 1])
    return gap[i] + sag(curvature[i + 1], radius) - sag(curvature[i], radius)
}

function smaller(a, b) { return a < b ? a : b }

BEGIN {
    # name, then the indices of refraction at F (486.1 nm), d (587.6 nm) and C (656.3 nm): Schott's glasses
    crowns = "N-FK5 1.49227 1.48749 1.48535;N-BK7 1.52238 1.51680 1.51432;N-BAK2 1.54625 1.53996 1.53721;" \
        "N-BAK1 1.57943 1.57250 1.56949;N-SK5 1.59581 1.58913 1.58619;N-SK14 1.61003 1.60311 1.60008;" \
        "N-SK16 1.62756 1.62041 1.61727;N-LAK7 1.65934 1.65160 1.64821;N-LAK9 1.69979 1.69100 1.68716;" \
        "N-LAK8 1.72222 1.71300 1.70897;N-LAK33B 1.76506 1.75500 1.75062;N-LAF34 1.78337 1.77250 1.76780"
    flints = "N-F2 1.63208 1.62005 1.61506;N-SF2 1.66125 1.64769 1.64210;N-SF5 1.68750 1.67271 1.66664;" \
        "N-SF8 1.70455 1.68894 1.68254;N-SF15 1.71536 1.69892 1.69222;N-SF1 1.73457 1.71736 1.71035;" \
        "N-SF10 1.74643 1.72828 1.72091;N-SF4 1.77477 1.75513 1.74719;N-SF14 1.78228 1.76182 1.75356;" \
        "N-SF11 1.80651 1.78472 1.77596;N-SF6 1.82783 1.80518 1.79608;N-SF57 1.87210 1.84666 1.83650"
    glass(crowns, crown1, 1); glass(flints, flint, 3); glass(crowns, crown2, 5)
    surfaces = 6
    curvature[1] = c1; curvature[2] = c2; curvature[3] = c3
    curvature[4] = c4; curvature[5] = c5; curvature[6] = c6
    gap[1] = t1; gap[2] = air1; gap[3] = t2; gap[4] = air2; gap[5] = t3
    if (pupil == "") pupil = 20
    if (fields == "") fields = "0 7 10"
    count = split(fields, angle, " ")
    pi = atan2(0, -1)

    if (c6 == "") {
        paraxial(2, 1, 0, 5)
        n = index_after[5, 2]; h = py + gap[5] * pu
        if (h <= 0) fail("the light crosses the axis inside the lens")
        if (n == 1) fail("the last lens has no glass: give c6")
        curvature[6] = -(n * pu + 0.01) / (h * (n - 1))
    }

    # first order: focal length, back focal length and where the entrance pupil lies
    paraxial(2, 1, 0, surfaces)
    if (pu >= 0) fail("the lens does not make a real image: it does not converge light")
    focal = -1 / pu; back = -py / pu
    pupil_at = 0
    if (front != "true") {  # the stop is at the vertex of surface 3, imaged by the first lens
        paraxial(2, 1, 0, 2); a = py + gap[2] * pu
        paraxial(2, 0, 1, 2); b = py + gap[2] * pu
        if (a <= 0) fail("the first lens does not image the stop")
        pupil_at = b / a
    }

    # Rays of each field: half of the pupil is enough, as the other half is its mirror image. For each ray,
    # where it meets the paraxial image plane, and its slopes: moving the plane by d adds d times the slope.
    rings = 4; spokes = 8
    rays = 3 * rings * spokes
    for (k = 1; k <= count; k++) {
        field = angle[k] * pi / 180
        sy = st = syy = syt = stt = 0
        for (w = 1; w <= 3; w++)
            for (i = 1; i <= rings; i++) {
                r = pupil / 2 * sqrt((i - 0.5) / rings)  # rings of equal area
                for (j = 1; j <= spokes; j++) {
                    turn = pi * (j - 0.5) / spokes
                    launch(w, field, r * sin(turn), r * cos(turn))
                    u = kx / kz; v = ky / kz
                    x += (back - z) * u; y += (back - z) * v
                    sy += y; st += v
                    syy += x * x + y * y; syt += x * u + y * v; stt += u * u + v * v
                }
            }
        # sums about the centre of the field's spot, all colours together
        spot[k] = syy / rays - (sy / rays) ^ 2
        slope[k] = syt / rays - sy * st / rays ^ 2
        cone[k] = stt / rays - (st / rays) ^ 2
        total += spot[k] / count; tilt += slope[k] / count; width += cone[k] / count
        # distortion: the chief ray of the edge of the field
        launch(2, field, 0, 0)
        height = y + (back - z) * ky / kz
        if (field > 0) distortion = height / (focal * sin(field) / cos(field)) - 1
    }
    shift = -tilt / width  # the plane of the best focus
    value = 1000 * sqrt(total + tilt * shift)

    glass_rim = smaller(rim(1), smaller(rim(3), rim(5)))
    air_rim = smaller(smaller(rim(2), air1), smaller(rim(4), air2))
    bend = distortion < 0 ? -distortion : distortion
    off = focal / 100 - 1
    constraint[1] = (off < 0 ? -off : off) - 0.01       # focal length: 100 mm, give or take 1 %
    constraint[2] = (1 - glass_rim) / 10                # rims of the lenses at least 1 mm thick
    constraint[3] = (0.2 - air_rim) / 10                # no lens touches the next
    constraint[4] = (60 - back - shift) / 100           # room for a camera behind the lens
    constraint[5] = bend - 0.02                         # distortion of at most 2 %

    if (show) {
        printf "surface   radius  to the next  glass     at the rim\n"
        for (i = 1; i <= surfaces; i++)
            printf("%7d %8s %12.3f  %-9s %10s\n", i,
                (curvature[i] == 0 ? "flat" : sprintf("%.2f", 1 / curvature[i])),
                (i < surfaces ? gap[i] : back + shift), name[i],
                (i < surfaces ? sprintf("%.2f", rim(i)) : "-"))
        for (w = 1; w <= 3; w++) {
            paraxial(w, 1, 0, surfaces)
            printf "%s: focal length %.3f mm, paraxial focus %.3f mm behind the lens\n",
                substr("FdC", w, 1), -1 / pu, -py / pu
        }
        printf "entrance pupil %g mm wide, %.2f mm behind the first vertex: f/%.2f\n",
            pupil, pupil_at, focal / pupil
        for (k = 1; k <= count; k++)
            printf "field %4.1f degrees: spot %.2f micrometres\n", angle[k],
                1000 * sqrt(spot[k] + 2 * shift * slope[k] + shift ^ 2 * cone[k])
        printf "distortion %.2f %%\n", 100 * distortion
    }
    if (show > 1)
        for (k = 1; k <= count; k++)
            for (i = -4; i <= 4; i++) {
                launch(2, angle[k] * pi / 180, 0, i / 8 * pupil)
                printf "fan: field %4.1f, at %6.2f in the pupil -> %.9f mm in the image\n", angle[k],
                    i / 8 * pupil, y + (back + shift - z) * ky / kz
            }
    printf "{\"value\": %.6f, \"constraints\": {\"focal length\": %.6f, \"rims\": %.6f, \"gaps\": %.6f, ", value,
        constraint[1], constraint[2], constraint[3]
    printf "\"back focus\": %.6f, \"distortion\": %.6f}}\n", constraint[4], constraint[5]
}
